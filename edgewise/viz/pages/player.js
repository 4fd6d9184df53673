// Displays one frame: the slider selects it, or the button plays all frames.
for (const player of document.querySelectorAll(".player")) {
  const frames = [...player.querySelectorAll(".shot")];
  const slider = player.querySelector("input");
  const button = player.querySelector("button");
  const caption = player.querySelector("output");
  let timer = 0;

  function show(number) {
    frames.forEach((frame, i) => { frame.hidden = i !== number; });
    slider.value = number;
    caption.textContent = frames[number].dataset.caption;
    slider.setAttribute("aria-valuetext", caption.textContent);
  }

  function stop() {
    clearInterval(timer);
    timer = 0;
    button.textContent = "Play";
  }

  function play() {
    if (Number(slider.value) === frames.length - 1) show(0);
    button.textContent = "Pause";
    timer = setInterval(() => {
      const next = Number(slider.value) + 1;
      if (next < frames.length) show(next);
      if (next + 1 >= frames.length) stop();
    }, Number(player.dataset.milliseconds));
  }

  slider.addEventListener("input", () => { stop(); show(Number(slider.value)); });
  button.addEventListener("click", () => (timer ? stop() : play()));
  player.querySelector(".controls").hidden = false;
  show(frames.length - 1);
}
