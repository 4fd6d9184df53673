// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "edgewise/base/config/fields.h"

namespace edgewise {

/// Numbers of the tokens that are no text. The vocabularies that Edgewise learns have the numbers of the defaults; a
/// vocabulary of another system has numbers of its own, and may use one token for two purposes.
struct SpecialTokens {
  std::int64_t padding = 0;
  std::int64_t unknown = 1;
  std::int64_t begin = 2;  // first input of the decoder
  std::int64_t end = 3;

  friend bool operator==(const SpecialTokens&, const SpecialTokens&) = default;
};

/// The place of the languages' tokens in the sentences of a multilingual model.
enum class LanguagePlace {
  kNone,               // nowhere
  kOutputBeforeInput,  // the output's language before the input (Marian)
  kBeforeBoth,         // the language of each side before its sentence (M2M-100, NLLB-200)
  kAfterInput          // the input's language after its end token, the output's before the output (first NLLB models)
};

inline constexpr auto enum_names(LanguagePlace) {
  return std::array{
      EnumName{LanguagePlace::kNone, "none"}, EnumName{LanguagePlace::kOutputBeforeInput, "output_before_input"},
      EnumName{LanguagePlace::kBeforeBoth, "before_both"}, EnumName{LanguagePlace::kAfterInput, "after_input"}};
}

struct Language {
  std::string name;  // `fra`, `fr` or `fra_Latn`, as in the model
  std::int64_t token = 0;

  friend bool operator==(const Language&, const Language&) = default;
};

/// The roles of a vocabulary's tokens other than text. The defaults are the rules of the vocabularies that Edgewise
/// learns.
struct SentenceRules {
  SpecialTokens special = {};
  std::vector<std::int64_t> omitted = {SpecialTokens().padding, SpecialTokens().begin,
                                       SpecialTokens().end};  // ascending; tokens that decoding leaves out
  std::vector<std::int64_t> forbidden = {SpecialTokens().padding, SpecialTokens().unknown,
                                         SpecialTokens().begin};  // ascending; tokens that outputs do not contain
  std::vector<std::int64_t> other_ends = {};  // ascending; tokens that end a generated text, as special.end does
  std::optional<bool> end_input = {};         // whether inputs end with the end token; nothing: both are possible
  LanguagePlace language_place = LanguagePlace::kNone;
  std::vector<Language> languages = {};  // ascending by name

  friend bool operator==(const SentenceRules&, const SentenceRules&) = default;
};

}  // namespace edgewise
