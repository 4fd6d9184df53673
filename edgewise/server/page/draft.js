// SPDX-License-Identifier: Apache-2.0

/// The text that the page displays while sentences arrive. Sentences of the translation before stay until new ones
/// replace them, so that the text does not shrink and grow at each key.
export class Draft {
  #sentences;
  #tail;

  /// `before` is the TextTranslation before into the same language, or null.
  constructor(before) {
    this.#sentences = before ? before.sentences.map(({ gap, text }) => ({ gap, text })) : [];
    this.#tail = before ? before.tail : "";
  }

  /// Sentences may arrive in any order. `gap` is the text between the sentence and the one before.
  add(number, gap, text) {
    while (this.#sentences.length < number) this.#sentences.push({ gap: " ", text: "…" });
    this.#sentences[number] = { gap: gap || (number > 0 ? " " : ""), text };
  }

  get text() {
    return this.#sentences.map(({ gap, text }) => gap + text).join("") + this.#tail;
  }
}
