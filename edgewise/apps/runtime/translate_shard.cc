// SPDX-License-Identifier: Apache-2.0
// Lines of a text that many processes translate: line n, counted from 0, belongs to shard n mod N.
#include <fmt/ranges.h>

#include <list>

#include "edgewise/apps/runtime/standard_streams.h"
#include "edgewise/apps/runtime/translate_command.h"
#include "edgewise/apps/runtime/translation_lines.h"
#include "edgewise/base/config/range.h"
#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/corpus/line_reader.h"
#include "edgewise/translate/model_paths.h"

namespace edgewise {
namespace {

TextShard parse_shard(std::string_view text) {
  const std::size_t slash = text.find('/');
  TextShard shard;
  const bool has_form = slash != std::string_view::npos && parse_number(text.substr(0, slash), Range(), shard.index) &&
                        parse_number(text.substr(slash + 1), Range(), shard.count);
  check(has_form, "translate: --shard is {}, needs I/N, shard I of N such as 3/16", quote(text));
  check(shard.count >= 1 && shard.count <= kMaxShards, "translate: --shard is {}, needs from 1 to {} shards", text,
        kMaxShards);
  check(shard.index >= 0 && shard.index < shard.count,
        "translate: --shard is {}, needs a shard from 0 to {}: shards are counted from 0, as in an array of Slurm with "
        "--array=0-{}",
        text, shard.count - 1, shard.count - 1);
  return shard;
}

std::string shard_path(const std::string& out, const TextShard& shard) {
  return fmt::format("{}.part-{:05}-of-{:05}", out, shard.index, shard.count);
}

std::vector<std::string> find_shards(const TranslateCommand& command) {
  std::vector<std::string> paths;
  std::vector<std::int64_t> missing;
  for (std::int64_t i = 0; i < command.merge; ++i) {
    paths.push_back(shard_path(command.output, {i, command.merge}));
    if (!has_entry(paths.back(), "translate")) missing.push_back(i);
  }
  check(missing.empty(), "translate: {} lacks {} of {} parts, needs all; translate with --shard I/{} for each I of {}",
        command.output, missing.size(), command.merge, command.merge, fmt::join(missing, ","));
  return paths;
}

/// Writes a line of each shard in turn, and returns the number of lines. Throws Error unless all shards end in one
/// turn, the last ones maybe a line before the first ones.
std::int64_t join_lines(const std::vector<std::string>& paths, AtomicFile& file) {
  std::list<LineReader> shards;
  for (const std::string& path : paths) {
    shards.emplace_back(
        path,
        LineReaderOptions{.max_line_bytes = std::size_t{1} << 30, .line_ends = LineEnds::kKeep, .caller = "translate"});
  }
  std::int64_t lines = 0;
  const LineReader* ended = nullptr;  // the first shard without further lines
  std::string line;
  for (bool is_after_end = false; !is_after_end;) {
    is_after_end = ended != nullptr;
    for (LineReader& shard : shards) {
      if (shard.next(line)) {
        if (ended != nullptr) {
          fail("translate: {} has {} lines, needs more, as {} has; translate both shards again", ended->path(),
               ended->line_number(), shard.path());
        }
        file.write(line);
        ++lines;
      } else if (ended == nullptr) {
        ended = &shard;
      }
    }
  }
  return lines;
}

}  // namespace

void check_options_of_shard(const TranslateCommand& command) {
  check(!command.output.empty(), "translate: --shard is set, needs --out, the text whose part is written");
  const auto refuse = [](std::string_view option, bool is_set, std::string_view reason) {
    check(!is_set, "translate: --shard and {} are set, needs one of them, because {}", option, reason);
  };
  refuse("--text", command.is_text, "a text is not divided at lines");
  refuse("--html", command.is_html, "a document is not divided at lines");
  refuse("--json", command.format.is_json, "a shard does not know the numbers of its lines");
}

void check_search_of_shard(const SearchOptions& search) {
  check(search.kind != SearchKind::kSampling,
        "translate: --shard is set and search.kind is sampling, needs beam, because random numbers depend on the "
        "number of a line in the whole text");
  check(search.n_best == 1, "translate: --shard is set and n_best is {}, needs 1, because --merge joins single lines",
        search.n_best);
}

void run_shard(TranslateCommand command) {
  const TextShard shard = parse_shard(*command.shard);
  command.output = shard_path(command.output, shard);
  run_lines(std::move(command), shard);
}

void run_merge(const TranslateCommand& command, const CLI::App& translate) {
  for (const CLI::Option* option : translate.get_options()) {
    const std::string name = option->get_name();
    check(name == "--merge" || name == "--out" || option->count() == 0,
          "translate: --merge and {} are set, needs one of them; the parts are translated already", name);
  }
  check(!command.output.empty(), "translate: --merge is set, needs --out, the text to write");
  make_output_optional();
  const std::vector<std::string> paths = find_shards(command);
  const std::vector<std::filesystem::path> inputs(paths.begin(), paths.end());
  check_output_file(command.output, inputs, "translate");
  AtomicFile file(command.output, "translate");
  const std::int64_t lines = join_lines(paths, file);
  file.commit();
  print_output("{}: {} parts, {} lines\n", printable(command.output), command.merge, lines);
}

}  // namespace edgewise
