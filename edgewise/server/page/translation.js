// SPDX-License-Identifier: Apache-2.0
import { unitRanges } from "./utf8.js";
import { joinTokens } from "./words.js";

const inOneLine = (text) => text.replaceAll("\n", " ");

/// Returns the outputs without those of a text that an earlier output has.
function distinct(outputs) {
  const texts = outputs.map((output) => inOneLine(output.text));
  return outputs.filter((output, i) => i === 0 || (texts[i] !== "" && texts.indexOf(texts[i]) === i));
}

/// A sentence that the model translated. A person may choose another output than the best one.
class Sentence {
  constructor(data, range, inputText, gap) {
    this.data = data;
    this.begin = range.begin;
    this.input = inputText.slice(range.begin, range.end);
    this.gap = gap; // text between the output of the sentence before and this output
    this.outputs = distinct(data.outputs);
    this.chosen = 0;
  }

  get output() {
    return this.outputs[this.chosen];
  }

  get text() {
    return inOneLine(this.output.text);
  }

  inputWords() {
    return joinTokens(this.input, unitRanges(this.input, this.data.input_token_ranges));
  }

  outputWords() {
    return joinTokens(this.text, unitRanges(this.text, this.output.token_ranges));
  }
}

function wordOfToken(words, numTokens) {
  const indices = new Array(numTokens).fill(-1);
  words.forEach((word, i) => word.tokens.forEach((token) => (indices[token] = i)));
  return indices;
}

/// The translation of a text, from a member of `translations` in a response of /v1/translate.
export class TextTranslation {
  constructor(text, data) {
    this.intermediate = data.intermediate ?? null;
    this.input = this.intermediate ?? text;
    const inputs = unitRanges(this.input, data.sentences.map((sentence) => sentence.input));
    const outputs = unitRanges(data.text, data.sentences.map((sentence) => sentence.output));
    this.sentences = [];
    let end = 0;
    data.sentences.forEach((sentence, i) => {
      if (sentence.outputs.length === 0) return; // the server copied the sentence
      this.sentences.push(new Sentence(sentence, inputs[i], this.input, data.text.slice(end, outputs[i].begin)));
      end = outputs[i].end;
    });
    this.tail = data.text.slice(end);
  }

  /// Whether the end of a sentence is not translated.
  get wasCut() {
    return this.sentences.some((sentence) => sentence.data.was_cut === true);
  }

  get text() {
    return this.sentences.map((sentence) => sentence.gap + sentence.text).join("") + this.tail;
  }

  /// Chooses the outputs that a person has chosen in the translation before, where the sentences are the same.
  keepChoices(before) {
    const chosen = new Map(before.sentences.map((sentence) => [sentence.input, sentence.text]));
    for (const sentence of this.sentences) {
      const rank = sentence.outputs.findIndex((output) => inOneLine(output.text) === chosen.get(sentence.input));
      sentence.chosen = Math.max(rank, 0);
    }
  }

  /// Returns the words of the input and of the output as {begin, end, sentence, partners}: a range of the text, the
  /// index of the sentence, and the indices of the words that the model aligns with the word.
  alignedWords() {
    const words = { input: [], output: [] };
    let place = 0;
    this.sentences.forEach((sentence, index) => {
      place += sentence.gap.length;
      appendWords(words, sentence, index, place);
      place += sentence.text.length;
    });
    return words;
  }
}

function appendWords(words, sentence, index, place) {
  const [firstInput, firstOutput] = [words.input.length, words.output.length];
  const [inputWords, outputWords] = [sentence.inputWords(), sentence.outputWords()];
  const placed = (begin) => (word) => ({
    begin: word.begin + begin, end: word.end + begin, sentence: index, partners: new Set(),
  });
  words.input.push(...inputWords.map(placed(sentence.begin)));
  words.output.push(...outputWords.map(placed(place)));
  const inputOf = wordOfToken(inputWords, sentence.data.input_tokens.length);
  const outputOf = wordOfToken(outputWords, sentence.output.tokens.length);
  for (const [inputToken, outputToken] of sentence.output.alignment) {
    const [input, output] = [inputOf[inputToken] ?? -1, outputOf[outputToken] ?? -1];
    if (input < 0 || output < 0) continue;
    words.input[firstInput + input].partners.add(firstOutput + output);
    words.output[firstOutput + output].partners.add(firstInput + input);
  }
}
