// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edgewise/translate/markup.h"

// Translations whose result a test can tell: words in another order or in capitals, each aligned to its input word.

namespace edgewise {

inline std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    if (end > begin) words.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

inline std::string join_with_spaces(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

inline std::string capitals(std::string text) {
  for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return text;
}

inline std::string reversed_words(std::string_view text) {
  std::vector<std::string> words = words_of(text);
  std::ranges::reverse(words);
  return join_with_spaces(words);
}

/// Output words, and for each the number of its input word, or -1.
struct WordTranslation {
  std::vector<std::string> words;
  std::vector<std::int64_t> inputs = {};
};

using TranslateWords = std::function<WordTranslation(const std::vector<std::string>& words)>;

inline AlignedTranslation translate_words(const std::string& text, const TranslateWords& translate) {
  const std::vector<std::string> inputs = words_of(text);
  const WordTranslation outputs = translate(inputs);
  AlignedTranslation translation = {.text = join_with_spaces(outputs.words)};
  translation.input_tokens = find_token_ranges(text, inputs);
  translation.output_tokens = find_token_ranges(translation.text, outputs.words);
  for (std::size_t i = 0; i < outputs.inputs.size(); ++i) {
    if (outputs.inputs[i] >= 0) translation.alignment.push_back({outputs.inputs[i], static_cast<std::int64_t>(i)});
  }
  return translation;
}

inline TranslateTexts translate_with(TranslateWords translate) {
  return [translate = std::move(translate)](std::span<const std::string> texts) {
    std::vector<AlignedTranslation> translations;
    for (const std::string& text : texts) translations.push_back(translate_words(text, translate));
    return translations;
  };
}

/// Changes each word and keeps the order.
inline TranslateTexts each_word(std::function<std::string(std::string)> change) {
  return translate_with([change = std::move(change)](const std::vector<std::string>& words) {
    WordTranslation translation;
    for (const std::string& word : words) {
      translation.inputs.push_back(static_cast<std::int64_t>(translation.words.size()));
      translation.words.push_back(change(word));
    }
    return translation;
  });
}

inline TranslateTexts copy_words() {
  return each_word([](std::string word) { return word; });
}

inline TranslateTexts reverse_words() {
  return translate_with([](const std::vector<std::string>& words) {
    WordTranslation translation = {.words = words};
    std::ranges::reverse(translation.words);
    for (std::int64_t i = std::ssize(words); i-- > 0;) translation.inputs.push_back(i);
    return translation;
  });
}

/// Returns the texts of a document that are to be translated.
inline std::vector<std::string> texts_of(std::string_view html) {
  std::vector<std::string> texts;
  translate_markup(html, [&](std::span<const std::string> given) {
    texts.assign(given.begin(), given.end());
    return copy_words()(given);
  });
  return texts;
}

/// Returns this translation for the only text.
inline TranslateTexts fixed_translation(AlignedTranslation translation) {
  return [translation = std::move(translation)](std::span<const std::string>) { return std::vector{translation}; };
}

/// Returns these words, with these input words.
inline TranslateTexts fixed_words(WordTranslation translation) {
  return translate_with(
      [translation = std::move(translation)](const std::vector<std::string>&) { return translation; });
}

}  // namespace edgewise
