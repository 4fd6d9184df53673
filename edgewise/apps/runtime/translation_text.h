// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "edgewise/translate/translation.h"
#include "edgewise/translate/translator.h"

namespace edgewise {

/// What is shown of a translation beside its text.
struct TranslationFormat {
  bool is_json = false;
  bool has_scores = false;
  bool has_alignments = false;
  bool has_attention = false;  // in JSON
  bool is_n_best = false;      // several outputs of one input
};

/// One line, or, of an n-best list, one for each output, with these columns, TABs between them: the number of the input
/// (n-best), the score, the text, and the alignment as `input-output` pairs of tokens counted from 0. As JSON always
/// one line, with all there is. `number` counts inputs from 1.
std::string translation_text(const Translation& translation, std::int64_t number, const TranslationFormat& format);

/// Translates what `next` gives to a LineOutput, until there is no more.
void write_translations(Translator& translator, const Translator::NextSentence& next, const std::string& destination,
                        std::string_view caller, const TranslationFormat& format);

}  // namespace edgewise
