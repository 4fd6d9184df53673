// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "edgewise/graph/graph.h"

namespace edgewise {

// The names of the sets and relations of a sentence graph.
inline constexpr std::string_view kEncoder = "encoder";
inline constexpr std::string_view kDecoder = "decoder";
inline constexpr std::string_view kEncoderEncoder = "ee";  // complete
inline constexpr std::string_view kEncoderDecoder = "ed";  // bipartite, encoder to decoder
inline constexpr std::string_view kDecoderDecoder = "dd";  // causal, self loops included

/// The numbers of encoder and decoder nodes of a sentence pair.
struct PairLengths {
  std::int64_t input = 0;
  std::int64_t output = 0;
};

/// Builds the graph of each pair of lengths once and joins stored graphs into batches. Memory: O(tokens) for each
/// different pair of lengths. Not thread-safe. Throws Error for a negative length.
class GraphPool {
 public:
  /// Returns the graph of one pair (see Graph's example). The reference is valid as long as the pool exists.
  const Graph& pair(PairLengths lengths);

  /// Makes a batch for training with one part per pair. O(tokens).
  Graph batch(std::span<const PairLengths> lengths);

  /// Makes a batch for decoding: encoder nodes with their relation `ee`, and no decoder nodes.
  Graph inputs(std::span<const std::int64_t> input_lengths);

 private:
  std::map<std::pair<std::int64_t, std::int64_t>, Graph> pairs_;
};

}  // namespace edgewise
