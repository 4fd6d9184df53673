// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "edgewise/apps/runtime/request_reader.h"
#include "edgewise/translate/translator.h"

namespace edgewise {

/// The parts of a translation that are printed beside its text.
struct TranslationFormat {
  bool is_json = false;
  bool has_scores = false;
  bool has_alignments = false;
  bool has_attention = false;  // attention weights; in JSON only
  bool is_n_best = false;      // each line begins with the number of its input
};

/// Translates all requests and writes the translations to a file or, for an empty path, standard output.
/// Each output is one line with these columns, separated by TABs, as far as `format` has them: the number of the input
/// from 1, the score, the text, and the alignment as `input-output` pairs of tokens counted from 0. JSON is one line
/// per translation. An error ends it at once, also while a reader waits for a pipe or a terminal.
void write_translations(Translator& translator, RequestReader& requests, const std::string& destination,
                        std::string_view caller, const TranslationFormat& format);

}  // namespace edgewise
