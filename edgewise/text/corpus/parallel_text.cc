// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/corpus/parallel_text.h"

#include <fmt/format.h>

#include <utility>

#include "edgewise/base/error.h"

namespace edgewise {

SentencePairs read_pairs(std::span<const std::string> files, const PairOptions& options) {
  check_num_files(files.size());
  std::vector<LineReader> readers;
  for (const std::string& file : files) readers.emplace_back(file, line_options(options));
  PairReader reader(std::move(readers), options);
  SentencePairs pairs;
  while (reader.next()) {
    if (!reader.is_usable()) continue;
    pairs.inputs.push_back(reader.input());
    pairs.outputs.push_back(reader.output());
  }
  pairs.report = reader.report();
  check_pairs_left(pairs.report, reader.name());
  return pairs;
}

void check_pairs_left(const PairReport& report, const std::string& name) {
  const std::string skipped = report.describe_skipped();
  check(report.kept > 0, "read_pairs: {} has no usable pair{}, needs at least one", name,
        skipped.empty() ? "" : fmt::format(" ({} left out)", skipped));
}

}  // namespace edgewise
