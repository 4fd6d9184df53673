// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "edgewise/text/corpus/pair_reader.h"

namespace edgewise {

struct SentencePairs {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;  // outputs[i] translates inputs[i]
  PairReport report;

  std::size_t size() const { return inputs.size(); }
};

/// Reads the usable sentence pairs of a corpus into memory, as PairReader does, and throws its errors. Also throws
/// Error if there is no usable pair.
SentencePairs read_pairs(std::span<const std::string> files, const PairOptions& options = {});

/// Throws Error, with the counts of skipped pairs, for a corpus without usable pairs.
void check_pairs_left(const PairReport& report, const std::string& name);

}  // namespace edgewise
