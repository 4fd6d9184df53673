// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

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

/// A link between nodes of a pair, each side counted from 0: the decoder node should attend to the encoder node.
struct NodeLink {
  std::int64_t encoder = 0;
  std::int64_t decoder = 0;

  bool operator==(const NodeLink&) const = default;
};

/// The token numbers of a sentence pair: the encoder's tokens, and the output from its begin token to its end token. A
/// text for a language model is the output of a pair without input: tokens of which each but the first is predicted.
struct TokenPair {
  std::vector<std::int64_t> input;
  std::vector<std::int64_t> output;
  std::vector<NodeLink> links = {};  // ascending by decoder node, then by encoder node, without repetitions
};

/// An edge of `ed` whose nodes are linked, and the share of attention that it should have: the links of a decoder node
/// have equal shares, which add up to 1.
struct LinkedEdge {
  std::int64_t edge = 0;
  float share = 0;

  bool operator==(const LinkedEdge&) const = default;
};

/// A batch of sentence graphs with their tokens and positions. The decoder nodes are the output without its last token,
/// the labels are the output without its first token: decoder node i predicts `labels[i]`.
struct Batch {
  Graph graph;
  std::vector<std::int64_t> input_tokens;      // [encoder nodes]
  std::vector<std::int64_t> input_positions;   // [encoder nodes], from 0 in each sentence
  std::vector<std::int64_t> output_tokens;     // [decoder nodes]
  std::vector<std::int64_t> output_positions;  // [decoder nodes]
  std::vector<std::int64_t> labels;            // [decoder nodes]; empty for a batch of inputs
  std::vector<std::int64_t> input_lengths;     // [sentences]
  std::vector<std::int64_t> output_lengths;    // [sentences], in decoder nodes
  std::vector<LinkedEdge> linked_edges = {};   // the links of all pairs, in their order

  std::int64_t num_sentences() const { return static_cast<std::int64_t>(input_lengths.size()); }
};

/// Returns the number of a token in its mirrored sentence: the last of `length` tokens, the end token, stays the last
/// one, and the tokens before it have the opposite order.
constexpr std::int64_t mirrored_number(std::int64_t token, std::int64_t length) {
  return token + 1 < length ? length - 2 - token : token;
}

/// Returns the position of each encoder node in its mirrored input: the one of the token that has this number.
std::vector<std::int64_t> mirrored_positions(const Batch& batch);

/// The tokens of a batch, and the edges of its relations.
struct BatchTokens {
  std::int64_t input = 0;
  std::int64_t output = 0;
  double encoder_edges = 0;
  double cross_edges = 0;
  double decoder_edges = 0;

  void add_pair(std::int64_t input_nodes, std::int64_t output_nodes);
};

/// Makes a batch for training. Either all pairs have inputs, or none has, in a batch of texts for a language model.
/// O(tokens). Throws Error for other pairs, for an output of fewer than two tokens, and for links of nodes that a pair
/// does not have.
Batch make_batch(std::span<const TokenPair> pairs);

/// Returns a training batch with each pair of `batch` twice: all pairs, then all pairs again. O(tokens).
Batch repeat_batch(const Batch& batch);

/// Makes a batch for decoding, which has encoder nodes only. Throws Error for an empty input.
Batch make_input_batch(std::span<const std::vector<std::int64_t>> inputs);

}  // namespace edgewise
