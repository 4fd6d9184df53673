// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/graph/graph_pool.h"

namespace edgewise {

/// A sentence pair as token numbers. `input` is what the encoder reads, as it stands; `output` begins with the begin
/// token and ends with the end token.
struct TokenPair {
  std::vector<std::int64_t> input;
  std::vector<std::int64_t> output;
};

/// Joined graphs with their tokens and positions, ready for a model. Decoder nodes are the output without its last
/// token, labels the output without its first: node i of the decoder is asked for `labels[i]`.
struct Batch {
  Graph graph;
  std::vector<std::int64_t> input_tokens;      // [encoder nodes]
  std::vector<std::int64_t> input_positions;   // [encoder nodes], from 0 in each sentence
  std::vector<std::int64_t> output_tokens;     // [decoder nodes]
  std::vector<std::int64_t> output_positions;  // [decoder nodes]
  std::vector<std::int64_t> labels;            // [decoder nodes]; empty for a batch of inputs
  std::vector<std::int64_t> input_lengths;     // [sentences]
  std::vector<std::int64_t> output_lengths;    // [sentences], number of decoder nodes

  std::int64_t num_sentences() const { return static_cast<std::int64_t>(input_lengths.size()); }
};

/// O(tokens). Throws Error for an empty input or an output of fewer than two tokens.
Batch make_batch(GraphPool& pool, std::span<const TokenPair> pairs);

/// All sentences of a batch for training, and then all of them again. O(tokens).
Batch twice(GraphPool& pool, const Batch& batch);

/// For decoding: the encoder's side alone.
Batch make_input_batch(GraphPool& pool, std::span<const std::vector<std::int64_t>> inputs);

}  // namespace edgewise
