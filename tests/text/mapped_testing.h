// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "edgewise/text/vocabulary/mapped_vocabulary.h"

namespace edgewise {

/// Returns a list whose text consists of tokens: `</s>` 0, `<unk>` 1, then `words`, and `<pad>`, which begins outputs.
inline TokenList list_of_words(const std::vector<std::string>& words) {
  TokenList list = {.text = TokenText::kTokens, .tokens = {"</s>", "<unk>"}};
  list.tokens.insert(list.tokens.end(), words.begin(), words.end());
  list.tokens.emplace_back("<pad>");
  const std::int64_t padding = std::ssize(list.tokens) - 1;
  list.rules = {.special = {.padding = padding, .unknown = 1, .begin = padding, .end = 0},
                .omitted = {0, 1, padding},
                .forbidden = {padding},
                .end_input = true};
  return list;
}

/// Gives a list of words languages, whose tokens are words.
inline TokenList with_languages(TokenList list, LanguagePlace place, std::vector<Language> languages) {
  list.rules.language_place = place;
  list.rules.languages = std::move(languages);
  return list;
}

inline std::shared_ptr<const Vocabulary> vocabulary_of(TokenList list) {
  return make_mapped_vocabulary(std::make_shared<TokenIndex>(std::move(list), "test"), nullptr);
}

}  // namespace edgewise
