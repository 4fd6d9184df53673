// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "edgewise/text/pair_reader.h"

namespace edgewise {

struct SentencePairs {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;  // as many
  PairAccount account;

  std::size_t size() const { return inputs.size(); }
};

/// Reads sentence pairs into memory: from two files, input and output with a sentence a line each, or from one TSV with
/// lines `input TAB output`. Files are read as LineReader reads them. Throws Error, naming file and line, when the two
/// files differ in their number of lines (with both numbers), a TSV line has not two fields, no pair is left, or, as
/// the options have it, at the first bad pair.
SentencePairs read_pairs(std::span<const std::string> files, const PairOptions& options = {});

/// Throws Error, with what was left out, for a corpus without pairs.
void check_pairs_left(const PairAccount& account, const std::string& name);

}  // namespace edgewise
