// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "edgewise/base/bfloat16.h"
#include "edgewise/graph/hypothesis_tree.h"
#include "edgewise/kernels/simd/aligned_bytes.h"

// Where keys and values stay: written once, never moved, found by their address. A token has a piece of memory, [2, W]
// and what else a layer keeps of it, in every layer; pieces come in blocks, [layers, tokens, 2, W], so that what a
// layer reads lies side by side. T is what they are kept in: float or BFloat16.

namespace edgewise {

/// What keys and values are kept in beside weights of T: they are read as often as weights, in the end, and need no
/// more of a number than those.
template <typename T>
using Cached = std::conditional_t<std::is_same_v<T, float>, float, BFloat16>;

struct BlockShape {
  static constexpr std::int64_t kTokens = 16;

  std::int64_t layers;
  std::int64_t piece_size;

  /// From a token's piece in one layer to that in the next.
  std::int64_t layer_step() const { return kTokens * piece_size; }
  std::int64_t size() const { return layers * layer_step(); }
};

/// Blocks of one shape; what is given back is taken again first, so that memory is that of the most that were in use at
/// a time.
template <typename T>
class BlockPool {
 public:
  explicit BlockPool(const BlockShape& shape) : shape_(shape) {}

  T* take();
  void give_back(T* block) { free_.push_back(block); }

  const BlockShape& shape() const { return shape_; }

 private:
  BlockShape shape_;
  std::vector<kernels::AlignedBytes> blocks_;
  std::vector<T*> free_;
};

/// The tree of one sentence's hypotheses: where each node's keys and values are, and which nodes it sees.
template <typename T>
class NodeMemory {
 public:
  /// Forgets all nodes.
  void clear(BlockPool<T>& pool);

  /// The next node's number. Throws Error, for `caller`, for a parent that is none.
  NodeIndex add(NodeIndex parent, BlockPool<T>& pool, const char* caller);

  std::int64_t depth(NodeIndex node) const { return nodes_[static_cast<std::size_t>(node)].depth; }

  /// In the first layer.
  T* piece(NodeIndex node, const BlockShape& shape) const;

  /// Appends the pieces of the nodes from a root to `node`.
  void append_path(NodeIndex node, const BlockShape& shape, std::vector<const T*>& pieces) const;

 private:
  struct Node {
    NodeIndex parent;
    std::int32_t depth;
  };
  std::vector<Node> nodes_;
  std::vector<T*> blocks_;
};

/// The keys and values of inputs that were read together.
template <typename T>
class InputMemory {
 public:
  explicit InputMemory(const BlockShape& shape) : shape_(shape) {}

  /// Room for so many tokens of so many sentences.
  void begin(std::int64_t tokens, std::int64_t sentences);

  /// In the first layer.
  T* piece(std::int64_t token) const;

  std::int64_t sentences_left = 0;  // that are still to be translated

 private:
  BlockShape shape_;
  kernels::AlignedBytes bytes_;
  T* blocks_ = nullptr;
};

}  // namespace edgewise
