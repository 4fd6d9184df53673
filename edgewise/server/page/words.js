// SPDX-License-Identifier: Apache-2.0
// Tokens are often parts of words. People point at words.

const kLetter = /^[\p{L}\p{M}\p{N}]$/u;
const kLetterWithoutSpaces = /^[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmr}\p{sc=Mymr}]$/u;

const isPartOfWord = (character) => kLetter.test(character) && !kLetterWithoutSpaces.test(character);

function characterBefore(text, end) {
  return [...text.slice(Math.max(0, end - 2), end)].at(-1) ?? "";
}

function goesOn(text, place) {
  const next = String.fromCodePoint(text.codePointAt(place) ?? 0);
  return isPartOfWord(characterBefore(text, place)) && isPartOfWord(next);
}

/// Joins tokens, ranges of a text in ascending order, to words {begin, end, tokens}, where `tokens` has the indices of
/// the tokens. A token without a character belongs to no word.
export function joinTokens(text, ranges) {
  const words = [];
  ranges.forEach(({ begin, end }, token) => {
    if (begin === end) return;
    const last = words.at(-1);
    if (last?.end === begin && goesOn(text, begin)) {
      last.end = end;
      last.tokens.push(token);
    } else {
      words.push({ begin, end, tokens: [token] });
    }
  });
  return words;
}
