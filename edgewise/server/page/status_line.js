// SPDX-License-Identifier: Apache-2.0

/// The line that says what the page does. Screen readers announce each new text.
export class StatusLine {
  #text;
  #again;
  #timer = 0;

  constructor(text, again) {
    this.#text = text;
    this.#again = again;
  }

  say(text) {
    this.#show(text, false);
  }

  /// Says the text after a pause, unless there is another text before.
  sayLater(text, milliseconds) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.say(text), milliseconds);
  }

  /// Says what went wrong, and offers to try again.
  fail(text) {
    this.#show(text, true);
  }

  #show(text, isError) {
    clearTimeout(this.#timer);
    if (this.#text.textContent !== text) this.#text.textContent = text;
    this.#text.classList.toggle("error", isError);
    this.#again.hidden = !isError;
  }
}
