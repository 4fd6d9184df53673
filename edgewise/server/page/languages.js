// SPDX-License-Identifier: Apache-2.0
// The two menus of languages.

export const kDetect = "auto";

function makeOption(code, name) {
  const option = document.createElement("option");
  option.value = code;
  option.textContent = name;
  return option;
}

const byName = (a, b) => a.name.localeCompare(b.name, "en");

export class LanguageMenus {
  #source;
  #target;
  #languages;

  /// `languages` is the response of /languages. A language is translated into itself by copying, which needs no menu.
  constructor(source, target, languages, defaults) {
    this.#source = source;
    this.#target = target;
    this.#languages = languages.map(({ code, name, targets }) => ({
      code, name, targets: targets.filter((other) => other !== code),
    }));
    this.#languages.sort(byName);
    const sources = this.#languages.filter(({ targets }) => targets.length > 0);
    source.replaceChildren(makeOption(kDetect, ""), ...sources.map(({ code, name }) => makeOption(code, name)));
    this.showDetected(null);
    this.choose(defaults.source.code, defaults.target.code);
  }

  get source() {
    return this.#source.value;
  }

  get target() {
    return this.#target.value;
  }

  nameOf(code) {
    return this.#languages.find((language) => language.code === code)?.name ?? code;
  }

  /// Chooses the languages of these codes that the menus have.
  choose(source, target) {
    const select = (menu, code) => {
      if ([...menu.options].some(({ value }) => value === code)) menu.value = code;
    };
    select(this.#source, source);
    this.updateTargets();
    select(this.#target, target);
  }

  /// Offers the targets of the source. Keeps the target if it is one of them, or else takes the first one.
  updateTargets() {
    const codes = this.#targetsOf(this.source);
    const names = this.#languages.filter(({ code }) => codes.has(code));
    const before = this.#target.value;
    this.#target.replaceChildren(...names.map(({ code, name }) => makeOption(code, name)));
    this.#target.value = codes.has(before) ? before : names[0]?.code ?? "";
  }

  /// Names the detected language in the menu; null: none.
  showDetected(code) {
    const text = code === null ? "Detect language" : `${this.nameOf(code)} (detected)`;
    this.#source.options[0].textContent = text;
  }

  canSwap(detected) {
    return this.#swapped(detected) !== null;
  }

  /// Swaps source and target. `detected` is the language of the text if the source is to be detected; null: unknown.
  swap(detected) {
    const swapped = this.#swapped(detected);
    this.#source.value = swapped.source;
    this.updateTargets();
    this.#target.value = swapped.target;
    this.showDetected(null);
  }

  #swapped(detected) {
    const source = this.#target.value;
    const targets = this.#targetsOf(source);
    const target = this.source === kDetect ? detected ?? [...targets][0] : this.source;
    return targets.has(target) ? { source, target } : null;
  }

  #targetsOf(source) {
    const languages = this.#languages.filter(({ code }) => source === kDetect || code === source);
    return new Set(languages.flatMap(({ targets }) => targets));
  }
}
