// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "edgewise/text/text_shards.h"

namespace edgewise {

struct MergeOptions {
  std::string caller;                  // errors begin with this function name
  const ShardedText* input = nullptr;  // the parts must be translations of this text; null: of any text
};

struct MergedParts {
  std::int64_t lines = 0;
  std::set<std::string> kernels;  // instruction sets that computed the parts
};

/// Joins all parts of a text to `out`, which is replaced in one step. Reads the input if there is one, and uses little
/// memory. Throws Error, and leaves all files as they are, unless all parts are complete, have the bytes that their
/// records say, are made from the same input by the same models and options, and have as many lines as the input.
MergedParts merge_parts(const std::filesystem::path& out, std::int64_t shards, const MergeOptions& options);

/// Returns increasing numbers as ranges, as Slurm reads and writes them: "3,7-9". The text has at most `most` ranges,
/// and says how many numbers it leaves out.
std::string format_ranges(const std::vector<std::int64_t>& numbers, std::size_t most = 50);

}  // namespace edgewise
