// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "edgewise/apps/runtime/request_reader.h"
#include "edgewise/base/files.h"
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

/// Opens the file to write, or returns null for an empty path, which means standard output. Throws Error for a path
/// that cannot be written; commands call this before they read a model, which takes long.
std::unique_ptr<AtomicFile> open_output(const std::string& path, std::string_view caller);

/// Translates all requests and writes the translations to a file or, if it is null, standard output. Commits the file.
/// Each output is one line with these columns, separated by TABs, as far as `format` has them: the number of the input
/// from 1, the score, the text, and the alignment as `input-output` pairs of tokens counted from 0. JSON is one line
/// per translation. An error ends it at once, also while a reader waits for a pipe or a terminal.
void write_translations(Translator& translator, RequestReader& requests, AtomicFile* file, std::string_view caller,
                        const TranslationFormat& format);

}  // namespace edgewise
