// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
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
  bool has_scores = false;
  bool has_alignments = false;
  bool has_attention = false;  // attention weights; in JSON only
  bool is_n_best = false;      // each line begins with the number of its input
};

/// Translates all requests and writes the translations to a file or, if it is null, standard output. Commits the file.
/// An error ends it at once, also while a reader waits for a pipe or a terminal.
void write_translations(Translator& translator, RequestReader& requests, AtomicFile* file, std::string_view caller,
                        const TranslationFormat& format);

/// Opens the file to write, or returns null for an empty path, which means standard output. Throws Error for a path
/// that cannot be written, and for one that check_output_file refuses because of `inputs`, the paths that the command
/// reads; commands call this before they read a model, which takes long.
std::unique_ptr<AtomicFile> open_output(const std::string& path, std::span<const std::filesystem::path> inputs,
                                        std::string_view caller);

/// Writes the lines of a command to a file, which is renamed into place at the end, or to standard output. Standard
/// output has whole lines only, even when the program is killed. Prints the number of sentences on standard error if
/// that is a terminal, unless the lines go to a terminal too.
class LineOutput {
 public:
  /// A null file means standard output, whose errors begin with `caller`.
  LineOutput(AtomicFile* file, std::string_view caller);
  ~LineOutput() { end_progress(); }

  /// Writes whole lines, which have so many sentences.
  void write(std::string_view text, int sentences);

  /// Renames the file into place, after the last sentence.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  void print_progress();
  void end_progress();

  std::string caller_;
  AtomicFile* file_;
  bool is_live_;
  bool has_progress_line_ = false;
  std::int64_t sentences_ = 0;
  Clock::time_point start_;
  Clock::time_point last_progress_;
};

}  // namespace edgewise
