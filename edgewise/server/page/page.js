// SPDX-License-Identifier: Apache-2.0
import { AlternativeList } from "./page/alternatives.js";
import { drawAttention } from "./page/attention.js";
import { copyText } from "./page/copy.js";
import { Draft } from "./page/draft.js";
import { describeError, wait } from "./page/errors.js";
import { kDetect, LanguageMenus } from "./page/languages.js";
import { LatestTask } from "./page/latest_task.js";
import { Lights } from "./page/lights.js";
import { readLink } from "./page/link.js";
import { fetchJson, translate } from "./page/server.js";
import { StatusLine } from "./page/status_line.js";
import { TextTranslation } from "./page/translation.js";

const kPatience = 700; // milliseconds after which the page says that it waits
const at = (id) => document.getElementById(id);

const status = new StatusLine(at("status"), at("again"));
const task = new LatestTask();
const lights = new Lights(showSentence);
const boxes = {
  text: lights.makeBox(at("text")),
  middle: lights.makeBox(at("middle-text")),
  translation: lights.makeBox(at("translation")),
};
const alternatives = new AlternativeList(at("alternatives"), choose);
let settings = null;
let menus = null;
let shown = null; // {translation, source, target} of the last response
let sentence = 0; // index of the sentence whose alternatives and attention are displayed

// --- requests

/// Runs an asynchronous function again and again until it succeeds, with pauses. Ends early after a lasting error.
async function persist(run, signal) {
  for (let attempt = 0; !signal.aborted; ++attempt) {
    try {
      return await run();
    } catch (error) {
      if (signal.aborted) return;
      const { text, seconds } = describeError(error, attempt);
      boxes.translation.setBusy(false);
      status.fail(text);
      if (seconds === null) return;
      await wait(seconds, signal).catch(() => {});
    }
  }
}

async function requestTranslation(text, signal) {
  const { source, target } = menus;
  const draft = new Draft(shown?.target === target ? shown.translation : null);
  const fields = {
    text, source, target, alternatives: settings.alternatives, token_ranges: true,
    attention: !at("attention").hidden,
  };
  boxes.translation.setBusy(true);
  status.sayLater("Translating …", kPatience);
  const response = await translate(fields, {
    key: at("key").value, signal,
    onSentence: ({ number, gap, outputs }) => {
      draft.add(number, gap, outputs[0].text);
      boxes.translation.text = draft.text;
    },
  });
  boxes.translation.setBusy(false);
  showResponse(text, response);
}

/// Returns why the page cannot translate the text; an empty text if the page can.
function obstacle(text) {
  if (settings.keyRequired && !at("key").value) return "Enter an API key to translate.";
  if (!menus.target) return "The server has no model for this language.";
  const { length } = [...text];
  const format = (number) => number.toLocaleString("en");
  if (length <= settings.charLimit) return "";
  return `The text has ${format(length)} characters. The server translates at most ${format(settings.charLimit)}.`;
}

function start(milliseconds = 0) {
  const text = at("text").value.toWellFormed?.() ?? at("text").value;
  task.cancel();
  if (text.trim() === "") return showNothing();
  const problem = obstacle(text);
  boxes.translation.setBusy(false);
  if (problem) return status.say(problem);
  task.start((signal) => persist(() => requestTranslation(text, signal), signal), milliseconds);
}

// --- display

function showCount() {
  const { length } = [...at("text").value];
  at("count").textContent = `${length.toLocaleString("en")} / ${settings.charLimit.toLocaleString("en")}`;
  at("count").classList.toggle("error", length > settings.charLimit);
  at("clear").hidden = length === 0;
}

function showNothing() {
  shown = null;
  sentence = 0;
  lights.clear();
  boxes.translation.text = "";
  boxes.translation.setBusy(false);
  menus.showDetected(null);
  showParts();
  status.say("");
}

function showResponse(text, { target, translations: [data] }) {
  const { source } = data;
  const translation = new TextTranslation(text, data);
  if (shown?.target === target) translation.keepChoices(shown.translation);
  shown = { translation, source, target };
  sentence = Math.min(sentence, Math.max(shown.translation.sentences.length - 1, 0));
  if (menus.source === kDetect) menus.showDetected(source);
  boxes.text.language = source;
  boxes.translation.language = target;
  showTranslation();
  showParts();
  status.say(summary());
}

function summary() {
  const [source, target] = [menus.nameOf(shown.source), menus.nameOf(shown.target)];
  if (shown.translation.wasCut) return "A sentence is too long: the end of the sentence is not translated.";
  return source === target ? `The text is already in ${target}.` : `Translated from ${source} to ${target}.`;
}

function showTranslation() {
  const { translation } = shown;
  const { intermediate } = translation;
  boxes.translation.text = translation.text;
  boxes.middle.text = intermediate ?? "";
  lights.show(translation.alignedWords(), intermediate === null ? boxes.text : boxes.middle, boxes.translation);
}

/// Displays what belongs to the translation: the buttons, and the alternatives and the attention of a sentence.
function showParts() {
  const hasSentences = (shown?.translation.sentences.length ?? 0) > 0;
  at("copy").hidden = shown === null;
  at("attention-button").hidden = !hasSentences;
  at("middle").hidden = (shown?.translation.intermediate ?? null) === null;
  at("swap").disabled = !menus.canSwap(shown?.source ?? null);
  at("alternatives").inert = false;
  alternatives.show(shown?.translation, sentence, shown?.target);
  showAttention();
}

function showSentence(index) {
  if (index === sentence) return;
  sentence = index;
  showParts();
}

function showAttention() {
  const chosen = shown?.translation.sentences[sentence];
  const hasWeights = chosen?.output.attention !== undefined;
  const count = shown?.translation.sentences.length ?? 0;
  at("attention-heading").textContent = count > 1 ? `Attention of sentence ${sentence + 1} of ${count}` : "Attention";
  if (at("attention").hidden || !hasWeights) return at("attention-table").replaceChildren();
  drawAttention(at("attention-table"), at("readout"), chosen);
}

// --- what a person does

function choose(chosenSentence, rank) {
  chosenSentence.chosen = rank;
  showTranslation();
  showAttention();
  status.say("The alternative is now in the translation.");
}

/// Forgets the words of the translation, which no longer belongs to the text.
function markStale() {
  lights.clear();
  boxes.text.setWords([]);
  at("alternatives").inert = true;
}

function changeText() {
  markStale();
  showCount();
  start(settings.frontendTimeout);
}

function changeLanguages() {
  markStale();
  menus.updateTargets();
  if (menus.source !== kDetect) {
    menus.showDetected(null);
    boxes.text.language = menus.source;
  }
  at("swap").disabled = !menus.canSwap(shown?.source ?? null);
  start();
}

function swap() {
  menus.swap(shown?.source ?? null);
  if (shown !== null) {
    boxes.text.text = boxes.translation.text;
    shown = null;
    showCount();
  }
  changeLanguages();
}

function toggleAttention() {
  const isOpen = at("attention").hidden;
  at("attention").hidden = !isOpen;
  at("attention-button").setAttribute("aria-expanded", String(isOpen));
  const needsWeights = isOpen && shown?.translation.sentences[sentence]?.output.attention === undefined;
  if (needsWeights) start();
  else showAttention();
}

async function copy() {
  const isCopied = await copyText(boxes.translation);
  status.say(isCopied ? "The translation is in the clipboard." : "The browser does not allow the page to copy.");
}

function clear() {
  boxes.text.text = "";
  at("text").focus();
  changeText();
}

/// Does what the link to the page names.
function followLink() {
  const { source, target, text } = readLink(location.hash);
  menus.choose(source, target);
  if (text) boxes.text.text = text;
  showCount();
  changeLanguages();
}

function listen() {
  addEventListener("hashchange", followLink);
  at("text").addEventListener("input", changeText);
  at("key").addEventListener("input", () => start(settings.frontendTimeout));
  at("source-language").addEventListener("change", changeLanguages);
  at("target-language").addEventListener("change", changeLanguages);
  at("swap").addEventListener("click", swap);
  at("clear").addEventListener("click", clear);
  at("copy").addEventListener("click", copy);
  at("attention-button").addEventListener("click", toggleAttention);
}

async function load() {
  const paths = ["frontend/settings", "page/settings.json", "languages"];
  const [frontend, page, languages] = await Promise.all(paths.map(fetchJson));
  settings = { ...frontend, ...page };
  menus = new LanguageMenus(at("source-language"), at("target-language"), languages, settings.language);
  at("key-row").hidden = !settings.keyRequired;
  at("source-language").disabled = false;
  at("target-language").disabled = false;
  status.say("");
  listen();
  showParts();
  followLink();
}

function tryAgain() {
  if (menus === null) return location.reload();
  at("text").focus(); // the button disappears
  start();
}

at("again").addEventListener("click", tryAgain);
persist(load, new AbortController().signal);
