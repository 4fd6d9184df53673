// Highlights the edges into a node of a graph, or the path from the root to a node of a tree. The pointer or, when the
// drawing has the focus, the arrow keys select the node; Escape clears the selection. The text below the drawing, which
// screen readers announce, describes the node.
for (const drawing of document.querySelectorAll(".lightable")) {
  const svg = drawing.querySelector("svg");
  const says = drawing.querySelector("output");
  const nodes = [...svg.querySelectorAll("[data-node]:not(path)")];
  const byName = new Map(nodes.map(node => [node.dataset.node, node]));
  let current = -1;
  svg.tabIndex = 0;
  svg.setAttribute("role", "group");  // screen readers do not announce the focus of an image

  // Yields the node and its ancestors. A node of a graph has no parent.
  function* line(node) {
    for (; node; node = byName.get(node.dataset.parent)) yield node;
  }

  function light(node) {
    current = node ? nodes.indexOf(node) : -1;
    svg.classList.toggle("dimmed", current >= 0);
    for (const lit of svg.querySelectorAll(".lit")) lit.classList.remove("lit");
    says.textContent = node ? node.getAttribute("aria-label") : says.dataset.rest;
    if (!node) return;
    for (const one of line(node)) {
      for (const part of svg.querySelectorAll(`[data-node="${one.dataset.node}"]`)) part.classList.add("lit");
    }
  }

  svg.addEventListener("pointerover", event => {
    const node = event.target.closest("[data-node]:not(path)");
    if (node) light(node);
  });
  svg.addEventListener("pointerleave", () => light(null));
  svg.addEventListener("blur", () => light(null));
  svg.addEventListener("keydown", event => {
    const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
    const first = step > 0 ? 0 : nodes.length - 1;
    if (step) light(nodes[current < 0 ? first : (current + step + nodes.length) % nodes.length] ?? null);
    else if (event.key === "Escape") light(null);
    else return;
    event.preventDefault();
  });
}
