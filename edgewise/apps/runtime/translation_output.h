// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "edgewise/apps/runtime/request_reader.h"
#include "edgewise/base/files/files.h"
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

/// Returns the lines of a translation. Each output is one line with these columns, separated by TABs, as far as
/// `format` has them: the number of the input, which is counted from 1, the score, the text, and the alignment as
/// `input-output` pairs of tokens counted from 0. JSON is one line per translation.
std::string format_translation(const Translation& translation, std::int64_t number, const TranslationFormat& format);

/// Translates all requests and writes the translations to a file or, if it is null, standard output. Commits the file.
/// An error ends it at once, also while a reader waits for a pipe or a terminal.
void write_translations(Translator& translator, RequestReader& requests, AtomicFile* file, std::string_view caller,
                        const TranslationFormat& format);

}  // namespace edgewise
