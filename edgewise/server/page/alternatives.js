// SPDX-License-Identifier: Apache-2.0

/// The list of the outputs for a sentence. A person chooses the output that the translation has.
export class AlternativeList {
  #section;
  #list;
  #heading;
  #hint;
  #onChoose;

  constructor(section, onChoose) {
    this.#section = section;
    this.#heading = section.querySelector("h2");
    this.#hint = section.querySelector(".hint");
    this.#list = section.querySelector(".choices");
    this.#onChoose = onChoose;
  }

  /// Lists the outputs of sentence number `index`, or hides the list if there is nothing to choose from.
  show(translation, index, language) {
    const sentence = translation?.sentences[index];
    this.#section.hidden = !sentence || sentence.outputs.length < 2;
    if (this.#section.hidden) return this.#list.replaceChildren();
    const count = translation.sentences.length;
    this.#heading.textContent = count === 1 ? "Alternatives" : `Alternatives for sentence ${index + 1} of ${count}`;
    this.#hint.hidden = count === 1;
    this.#list.replaceChildren(...sentence.outputs.map((output, rank) => this.#row(sentence, output, rank, language)));
  }

  #row(sentence, output, rank, language) {
    const radio = document.createElement("input");
    radio.type = "radio";
    radio.name = "alternative";
    radio.checked = rank === sentence.chosen;
    radio.addEventListener("change", () => this.#onChoose(sentence, rank));
    const text = document.createElement("bdi");
    text.lang = language;
    text.textContent = output.text;
    const label = document.createElement("label");
    label.append(radio, text);
    return label;
  }
}
