// SPDX-License-Identifier: Apache-2.0
// The page of attention_page.cc: `data` holds its maps. A map is chosen by layer and head; their count is the mean.

const kUnits = 10000; // of a weight of 1
const kNoEdge = 0xffff;
const kReadableCell = 34; // pixels; smaller cells do not display their weight
const kLeastLine = 0.01; // smaller weights have no line in the flow view

const state = { kind: data.kind, layer: data.layer, head: data.head, view: "map" };
// Each colour as a 32-bit pixel of a canvas (red in the first byte).
const pixels = new Uint32Array(
  Uint8Array.from(data.colours.flatMap((hex) => [1, 3, 5, 0].map((i) => (i ? parseInt(hex.slice(i, i + 2), 16) : 255)))).buffer,
);
const at = (id) => document.getElementById(id);

/// Creates an element with properties and children. Strings become text nodes, never HTML.
function make(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in element) element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

function unpacked(text) {
  const bytes = atob(text);
  const units = new Uint16Array(bytes.length / 2);
  for (let i = 0; i < units.length; ++i) units[i] = bytes.charCodeAt(2 * i) | (bytes.charCodeAt(2 * i + 1) << 8);
  return units;
}
for (const maps of data.maps) maps.units = unpacked(maps.weights);

const current = () => data.maps[state.kind];
const index = (maps, layer, head) => layer * (maps.heads + 1) + head;

function unitsOf(maps, layer, head) {
  const size = maps.rows.length * maps.columns.length;
  const begin = index(maps, layer, head) * size;
  return maps.units.subarray(begin, begin + size);
}

function nameOf(maps, layer, head) {
  const one = (what, i, count) => (i === count ? `mean of ${what}s` : `${what} ${i}`);
  return `${maps.name}, ${one(maps.ofLayers, layer, maps.layers)}, ${one("head", head, maps.heads)}`;
}

const digits = (units) => (units / kUnits).toFixed(4);
const colourIndex = (units) => Math.round((units / kUnits) * (data.colours.length - 1));

/// Moves the focus in a table of elements by arrow keys, Home and End. The Tab key stops at one element only.
function moveByKeys(table, elements, columns) {
  const focusable = () => elements.filter((e) => e);
  focusable().forEach((e, i) => (e.tabIndex = i ? -1 : 0));
  table.addEventListener("keydown", (event) => {
    const from = elements.indexOf(event.target);
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[event.key];
    let to = from;
    if (step) {
      do to += step;
      while (to >= 0 && to < elements.length && !elements[to]);
      const leavesRow = Math.abs(step) === 1 && Math.floor(to / columns) !== Math.floor(from / columns);
      if (leavesRow) return event.preventDefault();
    } else if (event.key === "Home") to = elements.findIndex((e) => e);
    else if (event.key === "End") to = elements.findLastIndex((e) => e);
    else return;
    event.preventDefault();
    if (from < 0 || !elements[to]) return;
    elements[from].tabIndex = -1;
    elements[to].tabIndex = 0;
    elements[to].focus();
  });
}

function radios(group, options, key) {
  group.replaceChildren(
    ...options.map(([value, text]) => {
      const input = make("input", { type: "radio", name: key, value, checked: state[key] === value });
      input.addEventListener("change", () => choose({ [key]: value }));
      return make("label", {}, input, text);
    }),
  );
}

// --- all maps, small

function drawSmall(canvas, maps, units) {
  canvas.width = maps.columns.length;
  canvas.height = maps.rows.length;
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  const image32 = new Uint32Array(image.data.buffer);
  for (let i = 0; i < units.length; ++i) {
    if (units[i] !== kNoEdge) image32[i] = pixels[colourIndex(units[i])];
  }
  context.putImageData(image, 0, 0);
}

function drawGrid() {
  const maps = current();
  const most = Math.max(maps.rows.length, maps.columns.length);
  const across = Math.max(24, Math.min(64, (at("grid").clientWidth - 70) / (maps.heads + 1) - 14));
  const buttons = [];
  const body = [];
  for (let layer = 0; layer <= maps.layers; ++layer) {
    const cells = [];
    for (let head = 0; head <= maps.heads; ++head) {
      const canvas = make("canvas");
      drawSmall(canvas, maps, unitsOf(maps, layer, head));
      canvas.style.width = `${(across * maps.columns.length) / most}px`;
      canvas.style.height = `${(across * maps.rows.length) / most}px`;
      const button = make("button", { type: "button", "aria-label": nameOf(maps, layer, head) }, canvas);
      button.title = nameOf(maps, layer, head);
      button.addEventListener("click", () => choose({ layer, head }));
      buttons.push(button);
      cells.push(make("td", {}, button));
    }
    const name = layer === maps.layers ? "mean" : `${maps.ofLayers} ${layer}`;
    body.push(make("tr", {}, make("th", { scope: "row" }, name), ...cells));
  }
  const heads = Array.from({ length: maps.heads + 1 }, (_, head) =>
    make("th", { scope: "col" }, head === maps.heads ? "mean" : `head ${head}`),
  );
  const table = make("table", { className: "maps" }, make("tr", {}, make("td"), ...heads), ...body);
  moveByKeys(table, buttons, maps.heads + 1);
  at("grid").replaceChildren(table);
}

function markChosen() {
  const chosen = index(current(), state.layer, state.head);
  at("grid")
    .querySelectorAll("button")
    .forEach((button, i) => button.setAttribute("aria-pressed", i === chosen));
}

// --- one map, large

function say(maps, row, column, units) {
  const edge = `“${maps.rows[row]}” attends to “${maps.columns[column]}”`;
  at("readout").textContent = units === kNoEdge ? `No edge: ${edge} never` : `${edge}: ${digits(units)}`;
}

/// Returns the largest cell size, 10 to 38 pixels, with which the table fits the window.
function cellSize(maps) {
  const room = (at("view").clientWidth - 100) / maps.columns.length;
  return Math.floor(Math.max(10, Math.min(38, room)));
}

/// Returns the kind of the gold link of a cell: "sure", "possible", or "".
function goldOf(row, column) {
  if (!data.alignment || data.aligned !== state.kind) return "";
  const { word_of_row, word_of_column, sure, possible } = data.alignment;
  const has = (links) => links.some(([i, j]) => i === word_of_column[column] && j === word_of_row[row]);
  return has(sure) ? "sure" : has(possible) ? "possible" : "";
}

function drawMap() {
  const maps = current();
  const units = unitsOf(maps, state.layer, state.head);
  const size = cellSize(maps);
  const columns = maps.columns.length;
  const columnHeads = maps.columnLabels.map((text, i) =>
    make("th", { scope: "col", dir: "auto", title: maps.columns[i] }, text),
  );
  const rowHeads = maps.rowLabels.map((text, i) => make("th", { scope: "row", dir: "auto", title: maps.rows[i] }, text));
  const cells = Array.from(units, (value, i) => {
    if (value === kNoEdge) return make("td");
    const cell = make("td", {}, size >= kReadableCell ? (value / kUnits).toFixed(2) : digits(value));
    const colour = colourIndex(value);
    cell.style.background = data.colours[colour];
    cell.style.color = colour < 0.45 * data.colours.length ? "#fff" : "#000";
    const gold = goldOf(Math.floor(i / columns), i % columns);
    if (gold) cell.className = gold;
    return cell;
  });
  const table = make(
    "table",
    { className: size >= kReadableCell ? "map" : "map small", "aria-label": nameOf(maps, state.layer, state.head) },
    make("thead", {}, make("tr", {}, make("td"), ...columnHeads)),
    make("tbody", {}, ...rowHeads.map((th, i) => make("tr", {}, th, ...cells.slice(i * columns, (i + 1) * columns)))),
  );
  table.style.setProperty("--cell", `${size}px`);
  const show = (event) => {
    const i = cells.indexOf(event.target);
    if (i < 0) return;
    const row = Math.floor(i / columns);
    say(maps, row, i % columns, units[i]);
    rowHeads.forEach((th, j) => th.classList.toggle("lit", j === row));
    columnHeads.forEach((th, j) => th.classList.toggle("lit", j === i % columns));
  };
  table.addEventListener("pointerover", show);
  table.addEventListener("click", show);
  table.addEventListener("focusin", show);
  moveByKeys(table, cells.map((cell, i) => (units[i] === kNoEdge ? null : cell)), columns);
  at("view").replaceChildren(table);
  at("hint").textContent =
    `Rows: ${maps.ofRows}, which attend. Columns: ${maps.ofColumns}, attended to. Each row sums to 1; an empty cell has no edge.`;
}

// --- one map as flow

function drawFlow() {
  const maps = current();
  const units = unitsOf(maps, state.layer, state.head);
  const columns = maps.columns.length;
  const height = 26;
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const most = Math.max(maps.rows.length, columns);
  svg.setAttribute("viewBox", `0 0 100 ${most * height}`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-hidden", "true");
  svg.style.height = `${most * height}px`;
  const lines = [];
  units.forEach((value, i) => {
    if (value === kNoEdge || value < kLeastLine * kUnits) return;
    const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
    const [row, column] = [Math.floor(i / columns), i % columns];
    const share = value / kUnits;
    for (const [key, number] of Object.entries({ x1: 0, y1: (column + 0.5) * height, x2: 100, y2: (row + 0.5) * height }))
      line.setAttribute(key, number);
    line.setAttribute("stroke-opacity", share);
    line.setAttribute("stroke-width", 0.5 + 4 * share);
    line.setAttribute("vector-effect", "non-scaling-stroke");
    lines.push({ line, row, column, value });
    svg.append(line);
  });

  const side = (labels, texts, isSource) => {
    const shares = [];
    const tokens = labels.map((label, i) => {
      const token = make("button", { type: "button", className: "token", dir: "auto", title: texts[i] }, label);
      token.addEventListener("pointerenter", () => light(i, isSource));
      token.addEventListener("focus", () => light(i, isSource));
      token.addEventListener("pointerleave", () => light(null));
      token.addEventListener("blur", () => light(null));
      shares.push(make("span", { className: "share" }));
      return token;
    });
    const items = tokens.map((token, i) => make("li", {}, ...(isSource ? [token, shares[i]] : [shares[i], token])));
    const list = make("ul", { "aria-label": isSource ? maps.ofColumns : maps.ofRows }, ...items);
    moveByKeys(list, tokens, 1);
    return { list, tokens, shares };
  };
  const left = side(maps.columnLabels, maps.columns, true);
  const right = side(maps.rowLabels, maps.rows, false);

  /// Highlights the edges of a token and displays their weights; `null` highlights all edges.
  function light(token, isSource) {
    const isLit = (edge) => token === null || (isSource ? edge.column : edge.row) === token;
    for (const s of [left, right]) {
      s.tokens.forEach((t) => t.classList.remove("lit"));
      s.shares.forEach((span) => (span.textContent = ""));
    }
    for (const edge of lines) {
      edge.line.classList.toggle("dim", !isLit(edge));
      if (token !== null && isLit(edge)) {
        const [others, other] = isSource ? [right, edge.row] : [left, edge.column];
        others.shares[other].textContent = digits(edge.value);
      }
    }
    if (token === null) return;
    (isSource ? left : right).tokens[token].classList.add("lit");
    const [text, ends] = isSource ? [maps.columns[token], maps.rows] : [maps.rows[token], maps.columns];
    const told = lines
      .filter(isLit)
      .sort((a, b) => b.value - a.value)
      .slice(0, 5)
      .map((edge) => `“${ends[isSource ? edge.row : edge.column]}” ${digits(edge.value)}`);
    at("readout").textContent = `“${text}” ${isSource ? "receives attention from" : "attends to"} ${told.join(", ") || "nothing"}`;
  }

  const heading = (text) => make("h3", {}, text);
  at("view").replaceChildren(
    make("div", { className: "flow" }, heading(maps.ofColumns), make("span"), heading(maps.ofRows), left.list, svg, right.list),
  );
  at("hint").textContent = `A line is an edge; the stronger, the larger its weight. Those below ${kLeastLine} are left out.`;
}

// --- alignment

const percent = (rate) => `${(100 * rate).toFixed(1)} %`;

function ratesTable(maps, found, key) {
  const rows = [];
  for (let layer = 0; layer <= maps.layers; ++layer) {
    const cells = [];
    for (let head = 0; head <= maps.heads; ++head) {
      const cell = make("td", {}, percent(found[index(maps, layer, head)][key]));
      cell.classList.toggle("here", layer === state.layer && head === state.head);
      cells.push(cell);
    }
    const name = layer === maps.layers ? "mean" : `${maps.ofLayers} ${layer}`;
    rows.push(make("tr", {}, make("th", { scope: "row" }, name), ...cells));
  }
  const heads = Array.from({ length: maps.heads + 1 }, (_, head) =>
    make("th", { scope: "col" }, head === maps.heads ? "mean" : `head ${head}`),
  );
  return make("div", { className: "wide" }, make("table", { className: "rates" }, make("tr", {}, make("td"), ...heads), ...rows));
}

function drawAlignment() {
  const report = data.alignment;
  if (!report || data.aligned !== state.kind) return at("alignment").replaceChildren();
  const found = report.found[index(current(), state.layer, state.head)];
  const pairs = found.links.map(([i, j]) => `${report.input_words[i]} – ${report.output_words[j]}`);
  const parts = [make("h2", {}, "Words that this map aligns"), make("p", {}, pairs.join("; ") || "none")];
  if (found.error_rate !== undefined) {
    parts.push(make("p", { id: "rate" }, `Alignment error rate: ${percent(found.error_rate)}. Framed cells are the links of the gold alignment: strong frames are sure, pale ones possible.`));
  }
  if (found.corpus_error_rate !== undefined && report.corpus_pairs > 1) {
    const left = report.left_out ? `, ${report.left_out} left out: too long, or of tokens that are no parts of words` : "";
    parts.push(make("h2", {}, `Alignment error rate of ${report.corpus_pairs} pairs`), ratesTable(current(), report.found, "corpus_error_rate"));
    if (left) parts.push(make("p", { className: "hint" }, `${report.corpus_pairs} pairs${left}.`));
    if (found.corpus_pairs < report.corpus_pairs) {
      parts.push(make("p", { className: "hint" }, `The rate of this map counts ${found.corpus_pairs} pairs: all tokens of the others halted in earlier steps.`));
    }
  }
  at("alignment").replaceChildren(...parts);
}

// --- selection

function drawChosen() {
  at("chosen").textContent = nameOf(current(), state.layer, state.head);
  at("readout").textContent = "";
  if (state.view === "map") drawMap();
  else drawFlow();
  markChosen();
  drawAlignment();
}

function choose(change) {
  const isOtherKind = "kind" in change && change.kind !== state.kind;
  const [wasLayers, wasHeads] = [current().layers, current().heads];
  Object.assign(state, change);
  if (isOtherKind) {
    const keep = (i, was, is) => (i === was ? is : Math.min(i, is - 1));
    state.layer = keep(state.layer, wasLayers, current().layers);
    state.head = keep(state.head, wasHeads, current().heads);
    drawGrid();
  }
  drawChosen();
}

/// A link can select the map and the view: #kind=0&layer=2&head=1&view=flow.
for (const [key, value] of new URLSearchParams(location.hash.slice(1))) {
  if (key === "view" && ["map", "flow"].includes(value)) state.view = value;
  else if (key in state && key !== "view" && /^[0-9]+$/.test(value)) state[key] = Number(value);
}
state.kind = Math.min(state.kind, data.maps.length - 1);
state.layer = Math.min(state.layer, current().layers);
state.head = Math.min(state.head, current().heads);

radios(at("kinds"), data.maps.map((maps, i) => [i, maps.name]), "kind");
radios(at("views"), [["map", "Map"], ["flow", "Flow"]], "view");
drawGrid();
drawChosen();

// Draws again when the width changes, but not for the height: drawing would move the focus.
let width = at("grid").clientWidth;
new ResizeObserver(() => {
  if (at("grid").clientWidth === width) return;
  width = at("grid").clientWidth;
  drawGrid();
  drawChosen();
}).observe(at("grid"));
