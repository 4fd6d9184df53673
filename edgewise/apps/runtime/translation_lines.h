// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "edgewise/base/files/files.h"
#include "edgewise/base/stop_request.h"
#include "edgewise/translate/text_lines.h"
#include "edgewise/translate/translation.h"
#include "edgewise/translate/translator.h"

namespace edgewise {

/// Each `count`-th line of a text, from line `index` on, counted from 0.
struct TextShard {
  std::int64_t index = 0;
  std::int64_t count = 1;
};

/// Reads translation requests from a text of inputs and, optionally, a text of prefixes, line by line.
class RequestReader {
 public:
  explicit RequestReader(TextLinesOptions inputs, std::optional<TextLinesOptions> prefixes = std::nullopt,
                         const TextShard& shard = {});

  /// Returns nullopt at the end. Throws Error as TextLines does, for an input of the shard that has no prefix, and for
  /// prefixes after the last input.
  std::optional<TranslationRequest> next();

  /// Makes next(), which may wait in another thread, throw StopException.
  void stop() { stop_ = true; }

 private:
  StopRequest stop_ = false;
  TextLines inputs_;
  std::optional<TextLines> prefixes_;
  TextShard shard_;
};

/// The parts of a translation that are printed beside its text.
struct TranslationFormat {
  bool is_json = false;
  bool has_scores = false;  // in lines of text; JSON always has scores
  bool has_alignments = false;
  bool has_attention = false;  // attention weights; in JSON only
  bool is_n_best = false;      // each line begins with the number of its input; not in JSON
};

/// Translates all requests and writes the translations to a file or, if it is null, standard output. Commits the file.
/// An error ends it at once, also while a reader waits for a pipe or a terminal.
void write_translations(Translator& translator, RequestReader& requests, AtomicFile* file, std::string_view caller,
                        const TranslationFormat& format);

}  // namespace edgewise
