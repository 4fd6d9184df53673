// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

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

/// Makes the graph of one sentence pair (see Graph's example). O(tokens). Throws Error for a negative length.
Graph make_pair_graph(PairLengths lengths);

/// Makes the graph of a training batch, with one part for each pair. O(tokens). Throws Error for a negative length.
Graph make_batch_graph(std::span<const PairLengths> lengths);

/// Makes the graph of a batch to translate: encoder nodes with their relation `ee`, and no decoder nodes.
Graph make_input_graph(std::span<const std::int64_t> input_lengths);

}  // namespace edgewise
