// SPDX-License-Identifier: Apache-2.0
// A text field that can light words. A field cannot colour parts of its text. So a mirror behind the field has the same
// text in the same place, invisible, on coloured words. The mirror also gives the field its height.

export class TextBox {
  #field;
  #mirror;
  #words = [];
  #spans = [];
  #caret = 0;
  #pointed = -1; // index of the word under the pointer

  /// Calls `onPoint(word)` when the pointer is on a word, and `onCaret(word)` when the caret is in a word; with -1 when
  /// it is elsewhere.
  constructor(field, { onPoint, onCaret }) {
    this.#field = field;
    this.#mirror = field.parentElement.querySelector(".mirror");
    const point = (word) => {
      if (word !== this.#pointed) onPoint((this.#pointed = word));
    };
    field.addEventListener("pointermove", (event) => point(this.#wordUnder(event)));
    field.addEventListener("pointerdown", (event) => point(this.#wordUnder(event)));
    field.addEventListener("pointerleave", () => point(-1));
    field.addEventListener("blur", () => onCaret(-1));
    field.addEventListener("focus", () => (this.#caret = -1));
    document.addEventListener("selectionchange", () => {
      // Browsers also send the event when a script changes the selection of another field.
      if (document.activeElement !== field || field.selectionStart === this.#caret) return;
      this.#caret = field.selectionStart;
      onCaret(this.#wordAtCaret());
    });
    if (field.readOnly) field.addEventListener("keydown", (event) => this.#selectByKey(event));
    this.language = ""; // not that of the page
    this.setWords([]);
  }

  get text() {
    return this.#field.value;
  }

  set text(text) {
    if (this.#field.value !== text) this.#field.value = text;
    if (this.#field.readOnly) this.#field.setSelectionRange(0, 0); // the arrow keys begin with the first word
    this.setWords([]);
  }

  set language(code) {
    this.#field.lang = code;
    this.#mirror.lang = code;
  }

  setBusy(isBusy) {
    this.#field.setAttribute("aria-busy", String(isBusy));
  }

  /// Sets the words of the text: ranges {begin, end} in ascending order.
  setWords(words) {
    this.#words = words;
    this.#pointed = -1;
    const text = this.text;
    const parts = [];
    let end = 0;
    this.#spans = words.map((word, i) => {
      const span = document.createElement("span");
      span.textContent = text.slice(word.begin, word.end);
      span.dataset.word = i;
      parts.push(text.slice(end, word.begin), span);
      end = word.end;
      return span;
    });
    const kZeroWidth = "\u200b"; // gives height to an empty last line
    this.#mirror.replaceChildren(...parts, text.slice(end) + kZeroWidth);
  }

  /// Lights words, and no others. The style says how: "origin" or "partner".
  light(indices, style) {
    for (const span of this.#spans) span.removeAttribute("class");
    for (const i of indices) this.#spans[i]?.classList.add(style);
  }

  select() {
    this.#field.select();
  }

  #wordAtCaret() {
    return this.#words.findIndex((word) => word.begin <= this.#caret && this.#caret <= word.end);
  }

  #wordUnder(event) {
    const hit = document.elementsFromPoint(event.clientX, event.clientY)
      .find((element) => element.dataset.word !== undefined && this.#mirror.contains(element));
    return hit ? Number(hit.dataset.word) : -1;
  }

  /// Lets the arrow keys go from word to word: browsers have no caret in a field that cannot be changed.
  #selectByKey(event) {
    if (event.shiftKey || event.ctrlKey || event.altKey || event.metaKey || this.#words.length === 0) return;
    const forward = getComputedStyle(this.#field).direction === "rtl" ? "ArrowLeft" : "ArrowRight";
    const backward = forward === "ArrowLeft" ? "ArrowRight" : "ArrowLeft";
    const { selectionStart, selectionEnd } = this.#field;
    const hasSelection = selectionEnd > selectionStart;
    const last = this.#words.length - 1;
    const next = this.#words.findIndex((word) => word.begin >= (hasSelection ? selectionEnd : selectionStart));
    const before = this.#words.findLastIndex((word) => word.end <= selectionStart);
    const to = { [forward]: next < 0 ? last : next, [backward]: Math.max(before, 0), Home: 0, End: last }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.#field.setSelectionRange(this.#words[to].begin, this.#words[to].end);
  }
}
