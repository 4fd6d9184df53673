// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/indexed_text.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/random.h"
#include "edgewise/text/text_hash.h"

namespace edgewise {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

/// Counts and hash of the lines that `scan` read.
struct Scan {
  std::int32_t lines = 0;
  std::int32_t pairs = 0;
  std::uint64_t hash = 0;
};

/// Reads at most `max_lines` lines and at most `max_pairs` usable pairs, and calls `use` for each usable pair.
template <class Use>
Scan scan(PairReader& reader, std::int64_t max_lines, std::int64_t max_pairs, Use use) {
  Scan scan;
  TextHash hash;
  while (scan.lines < max_lines && scan.pairs < max_pairs && reader.next()) {
    ++scan.lines;
    hash.add(reader.input());
    hash.add(reader.output());
    if (!reader.is_usable()) continue;
    ++scan.pairs;
    use(reader);
  }
  scan.hash = hash.value();
  return scan;
}

}  // namespace

IndexedText::IndexedText(std::span<const std::string> files, const PairOptions& options, std::int64_t limit)
    : options_(options) {
  check_num_files(files.size());
  for (const std::string& file : files) files_.emplace_back(file, line_options(options).caller);
  index(limit > 0 ? limit : kNoLimit);
  check_pairs_left(report_, name_);
}

PairReader IndexedText::reader_from(const Block& block) const {
  std::vector<LineReader> readers;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    readers.emplace_back(files_[i].from(block.offsets[i]), files_[i].name(), block.lines_before,
                         line_options(options_));
  }
  return {std::move(readers), options_};
}

void IndexedText::index(std::int64_t limit) {
  PairReader reader = reader_from({});
  name_ = reader.name();
  std::int64_t lines = 0;
  std::int64_t pairs = 0;
  while (pairs < limit) {
    Block block{.lines_before = lines};
    // The first block begins at offset 0, where a reader skips a byte order mark.
    if (lines > 0) std::ranges::copy(reader.offsets(), block.offsets.begin());
    const Scan found = scan(reader, kBlockSize, limit - pairs, [](const PairReader&) {});
    if (found.lines == 0) break;
    block.lines = found.lines;
    block.pairs = found.pairs;
    block.hash = found.hash;
    blocks_.push_back(block);
    fingerprint_ = mix(mix(fingerprint_, block.hash), static_cast<std::uint64_t>(block.pairs));
    lines += found.lines;
    pairs += found.pairs;
  }
  report_ = reader.report();
}

SentencePairs IndexedText::read(std::int64_t number) const {
  const Block& block = at(number);
  PairReader reader = reader_from(block);
  SentencePairs pairs;
  const Scan found = scan(reader, block.lines, kNoLimit, [&pairs](const PairReader& pair) {
    pairs.inputs.push_back(pair.input());
    pairs.outputs.push_back(pair.output());
  });
  check(found.hash == block.hash,
        "read_pairs: {} has other text from line {} on than when it was first read, needs files that stay as they are "
        "while a model learns from them",
        name_, block.lines_before + 1);
  return pairs;
}

}  // namespace edgewise
