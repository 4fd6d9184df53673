// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "edgewise/base/bfloat16.h"
#include "edgewise/graph/hypothesis_tree.h"
#include "edgewise/kernels/simd/scratch.h"

// Memory of the self-attention entries of hypotheses: kv_cache.h says what an entry is.
namespace edgewise {

struct BlockShape {
  static constexpr std::int64_t kTokens = 16;

  std::int64_t layers;
  std::int64_t entry_size;  // in elements, as all sizes and offsets here

  /// Distance from a token's entry in one layer to its entry in the next.
  std::int64_t layer_step() const { return kTokens * entry_size; }
  std::int64_t size() const { return layers * layer_step(); }
};

/// Blocks of one shape. A returned block is reused before memory for a new one is allocated.
template <typename T>
class BlockPool {
 public:
  using Address = T*;
  using ConstAddress = const T*;

  explicit BlockPool(const BlockShape& shape) : shape_(shape) {}

  T* take();
  void give_back(T* block) { free_.push_back(block); }

  const BlockShape& shape() const { return shape_; }

 private:
  BlockShape shape_;
  std::vector<kernels::AlignedBuffer> blocks_;
  std::vector<T*> free_;
};

/// The numbers of blocks in memory that another object holds: entry i of block b is entry b + i of the memory.
class PageNumbers {
 public:
  using Address = NodeIndex;
  using ConstAddress = NodeIndex;

  NodeIndex take();
  void give_back(NodeIndex page) { free_.push_back(page); }

  /// Returns the number of entries that the memory needs.
  std::int64_t num_entries() const { return num_pages_ * BlockShape::kTokens; }

  static constexpr BlockShape shape() { return {.layers = 1, .entry_size = 1}; }

 private:
  std::int64_t num_pages_ = 0;
  std::vector<NodeIndex> free_;
};

/// Self-attention cache of one sentence's hypotheses: a tree whose nodes are tokens, with the entries of each node.
/// Pool is a class like BlockPool.
///
/// If no later token attends to them, the entries of earlier tokens can be discarded: their blocks hold the entries of
/// later ones then, as a ring, so that the memory of an endless text is constant. Nodes have increasing numbers
/// nevertheless.
template <class Pool>
class HypothesisCache {
  using Address = typename Pool::Address;

 public:
  /// The first `sinks` tokens of each hypothesis are never discarded.
  explicit HypothesisCache(std::int64_t sinks = 0) : sinks_(sinks) {}

  /// Removes all nodes.
  void clear(Pool& pool);

  /// Adds a node and returns its number. Throws Error for a parent that does not exist, in the name of `caller`, or was
  /// discarded.
  NodeIndex add(NodeIndex parent, Pool& pool, const char* caller);

  NodeIndex num_nodes() const { return num_nodes_; }
  std::int64_t depth(NodeIndex node) const { return at(node).depth; }

  /// Returns the node's entry in the first layer.
  Address entry(NodeIndex node, const BlockShape& shape) const {
    return static_cast<Address>(block(node).address + node % BlockShape::kTokens * shape.entry_size);
  }

  /// Appends the first layer's entries of the nodes from the root to `node`.
  void append_path(NodeIndex node, const BlockShape& shape, std::vector<typename Pool::ConstAddress>& entries) const;

  /// Appends the first layer's entries of the nodes at these depths, which ascend, on the path from the root to `node`.
  /// Takes as many steps as the path has nodes after the sinks and after the first of the other depths. Throws Error,
  /// in the name of a step, if one of the nodes was discarded.
  void append_depths(NodeIndex node, std::span<const NodeIndex> depths, const BlockShape& shape,
                     std::vector<typename Pool::ConstAddress>& entries) const;

  /// Gives back the blocks all of whose nodes have a depth below `depth`, except sinks. Nodes must be added in the
  /// order of their depths to leave no block behind.
  void discard_below(std::int64_t depth, Pool& pool);

 private:
  struct Node {
    NodeIndex parent;
    std::int32_t depth;
    NodeIndex sink;  // the last node on the path that is a sink; kRoot if there is none
  };
  struct Block {
    Address address;
    std::array<Node, BlockShape::kTokens> nodes;
  };

  const Block& block(NodeIndex node) const;
  const Node& at(NodeIndex node) const {
    return block(node).nodes[static_cast<std::size_t>(node % BlockShape::kTokens)];
  }

  std::int64_t sinks_;
  NodeIndex num_nodes_ = 0;
  std::vector<Block> sink_blocks_;  // blocks 0, 1, …, which have sinks, if later blocks were given back
  std::deque<Block> blocks_;        // blocks first_block_, first_block_ + 1, …
  std::int64_t first_block_ = 0;
};

}  // namespace edgewise
