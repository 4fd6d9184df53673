// SPDX-License-Identifier: Apache-2.0
import { TextBox } from "./text_box.js";

/// Lights a word under the pointer or the caret, and the words of the other text that the model aligns with the word.
export class Lights {
  #onSentence;
  #words = { input: [], output: [] };
  #boxes = { input: null, output: null };
  #caret = { box: null, word: -1 };

  /// Calls `onSentence(index)` when a person moves the caret into a sentence.
  constructor(onSentence) {
    this.#onSentence = onSentence;
  }

  makeBox(field) {
    const box = new TextBox(field, {
      onPoint: (word) => (word < 0 ? this.#light(this.#caret.box, this.#caret.word) : this.#light(box, word)),
      onCaret: (word) => this.#moveCaret(box, word),
    });
    return box;
  }

  /// Sets the words of a translation (TextTranslation.alignedWords) and their boxes.
  show(words, inputBox, outputBox) {
    this.#words = words;
    this.#boxes = { input: inputBox, output: outputBox };
    inputBox.setWords(words.input);
    outputBox.setWords(words.output);
  }

  /// Forgets the translation, because the text changes.
  clear() {
    this.#words = { input: [], output: [] };
    for (const box of Object.values(this.#boxes)) box?.setWords([]);
    this.#caret = { box: null, word: -1 };
  }

  #sideOf(box) {
    return Object.keys(this.#boxes).find((side) => this.#boxes[side] === box);
  }

  #moveCaret(box, word) {
    this.#caret = { box, word };
    this.#light(box, word);
    const found = this.#words[this.#sideOf(box)]?.[word];
    if (found) this.#onSentence(found.sentence);
  }

  #light(box, word) {
    const side = this.#sideOf(box);
    const other = side === "input" ? "output" : "input";
    const found = this.#words[side]?.[word];
    for (const each of Object.values(this.#boxes)) each?.light([], "");
    if (!found) return;
    this.#boxes[side].light([word], "origin");
    this.#boxes[other].light([...found.partners], "partner");
  }
}
