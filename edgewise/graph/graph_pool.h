// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "edgewise/graph/graph.h"

namespace edgewise {

// The sets and relations of a sentence graph.
inline constexpr std::string_view kEncoder = "encoder";
inline constexpr std::string_view kDecoder = "decoder";
inline constexpr std::string_view kEncoderEncoder = "ee";  // complete
inline constexpr std::string_view kEncoderDecoder = "ed";  // bipartite, encoder to decoder
inline constexpr std::string_view kDecoderDecoder = "dd";  // causal, self loops included

struct PairLengths {
  std::int64_t input = 0;
  std::int64_t output = 0;
};

/// Prebuilt sentence graphs, joined into batches without rebuilding their parts. Keeps what it built, O(tokens) for
/// each pair of lengths that it met; not for several threads at once. Throws Error for a negative length.
class GraphPool {
 public:
  /// The graph of one pair, numbered as in Graph's example. Lives as long as the pool.
  const Graph& pair(PairLengths lengths);

  /// A batch of pairs for training, one part a pair. O(tokens).
  Graph batch(std::span<const PairLengths> lengths);

  /// A batch for decoding: the inputs with their `ee`, and decoder sets that are still empty; HypothesisTree grows
  /// them.
  Graph inputs(std::span<const std::int64_t> input_lengths);

 private:
  std::map<std::pair<std::int64_t, std::int64_t>, Graph> pairs_;
};

}  // namespace edgewise
