// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "edgewise/graph/hypothesis_tree.h"
#include "edgewise/kernels/aligned_bytes.h"

// Where keys and values stay: written once, never moved, found by their address. Whatever belongs to one token, in
// every layer, is one piece of memory, [layers, 2, W].

namespace edgewise {

/// Pieces of one size, taken in blocks; what is given back is taken again first, so that memory is that of the most
/// that were in use at a time.
class PiecePool {
 public:
  static constexpr std::int64_t kPiecesOfBlock = 16;

  explicit PiecePool(std::int64_t floats_of_piece) : floats_of_piece_(floats_of_piece) {}

  /// The first of kPiecesOfBlock pieces, one behind the other.
  float* take_block();
  void give_back(float* block) { free_.push_back(block); }

  std::int64_t floats_of_piece() const { return floats_of_piece_; }

 private:
  std::int64_t floats_of_piece_;
  std::vector<kernels::AlignedBytes> blocks_;
  std::vector<float*> free_;
};

/// The tree of one sentence's hypotheses: where each node's keys and values are, and which nodes it sees.
class NodeMemory {
 public:
  /// Forgets all nodes.
  void clear(PiecePool& pool);

  /// The next node's number. Throws Error, for `caller`, for a parent that is none.
  NodeIndex add(NodeIndex parent, PiecePool& pool, const char* caller);

  std::int64_t depth(NodeIndex node) const { return nodes_[static_cast<std::size_t>(node)].depth; }
  float* piece(NodeIndex node, const PiecePool& pool) const;

  /// Appends the pieces of the nodes from a root to `node`.
  void append_path(NodeIndex node, const PiecePool& pool, std::vector<const float*>& pieces) const;

 private:
  struct Node {
    NodeIndex parent;
    std::int32_t depth;
  };
  std::vector<Node> nodes_;
  std::vector<float*> blocks_;
};

/// The keys and values of inputs that were read together: one piece a token.
class InputMemory {
 public:
  explicit InputMemory(std::int64_t floats_of_piece) : floats_of_piece_(floats_of_piece) {}

  /// Room for so many tokens of so many sentences.
  float* begin(std::int64_t tokens, std::int64_t spare_tokens, std::int64_t sentences);

  std::int64_t sentences_left = 0;  // that are still to be translated

 private:
  std::int64_t floats_of_piece_;
  kernels::AlignedBytes bytes_;
};

}  // namespace edgewise
