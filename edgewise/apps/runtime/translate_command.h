// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/apps/runtime/shared_options.h"
#include "edgewise/apps/runtime/translation_lines.h"
#include "edgewise/translate/text_translator.h"

// The command `translate`: translate.cc has its options and the mode of lines, translate_text.cc and translate_shard.cc
// the other modes.

namespace edgewise {

/// The most shards of a text: --merge has all of their files open.
inline constexpr std::int64_t kMaxShards = 1000;

struct TranslateCommand {
  TranslatorSettings settings;
  std::string input = "-";  // "-": standard input
  std::string output;       // empty: standard output
  std::string prefixes;
  std::vector<std::string> set;  // search.key=value
  BadText bad_text = BadText::kStop;
  std::uint64_t max_line = 0;  // bytes; 0: the default of TextLinesOptions
  TranslationFormat format;
  bool is_text = false;  // the input is a text and not one sentence per line
  bool is_html = false;
  TextOptions text;
  std::uint64_t max_document = std::uint64_t{16} << 20;  // bytes
  std::optional<std::string> shard;
  std::int64_t merge = 0;  // shards to merge; 0: none

  bool needs_alignments() const { return format.has_alignments || format.has_attention || is_html; }
};

TextLinesOptions text_options(const TranslateCommand& command, const std::string& path);

/// Opens the output as open_output() does.
std::unique_ptr<AtomicFile> open_output_file(const TranslateCommand& command);

/// Loads the models and sets the number of threads.
Translator open_translator(const TranslateCommand& command);

/// Loads the models. Throws Error unless the search finds one output. `mode` is the option that needs it.
Translator open_translator_of_texts(const TranslateCommand& command, std::string_view mode);

/// Prints a line on standard error.
void print_report(const std::string& text);

// The modes. Each translates the input of the command, and writes and commits its output.

void run_lines(TranslateCommand command, const TextShard& shard = {});
void run_text(const TranslateCommand& command);
void run_html(const TranslateCommand& command);

/// Translates the lines of a shard.
void run_shard(TranslateCommand command);

/// Joins the translations of all shards. Throws Error for options that only translating needs.
void run_merge(const TranslateCommand& command, const CLI::App& translate);

/// Throw Error for options and a search that --shard excludes.
void check_options_of_shard(const TranslateCommand& command);
void check_search_of_shard(const SearchOptions& search);

}  // namespace edgewise
