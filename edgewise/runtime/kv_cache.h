// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "edgewise/base/bfloat16.h"
#include "edgewise/graph/hypothesis_tree.h"
#include "edgewise/kernels/attention/node_attention.h"
#include "edgewise/kernels/simd/scratch.h"
#include "edgewise/search/scorer.h"

// Memory of a KV cache. A cache entry holds the key and the value of one token in one layer, [2, W], and possibly more
// after them, where W is the size of a key. Entries lie in blocks, [layers, kTokens, entry size], so that the entries
// of one layer are adjacent. Entries never move: an address identifies an entry. T is float or BFloat16.
namespace edgewise {

/// Type of cached keys and values for weights of type T. The cache of int8 weights is BFloat16: each step reads the
/// whole cache, and more precision than the weights have would only cost bandwidth.
template <typename T>
using CacheElement = std::conditional_t<std::is_same_v<T, float>, float, BFloat16>;

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
template <class Pool>
class HypothesisCache {
  using Address = typename Pool::Address;

 public:
  /// Removes all nodes.
  void clear(Pool& pool);

  /// Adds a node and returns its number. Throws Error, in the name of `caller`, for a parent that does not exist.
  NodeIndex add(NodeIndex parent, Pool& pool, const char* caller);

  std::int64_t depth(NodeIndex node) const { return nodes_[static_cast<std::size_t>(node)].depth; }

  /// Returns the node's entry in the first layer.
  Address entry(NodeIndex node, const BlockShape& shape) const {
    return static_cast<Address>(blocks_[static_cast<std::size_t>(node / BlockShape::kTokens)] +
                                node % BlockShape::kTokens * shape.entry_size);
  }

  /// Appends the first layer's entries of the nodes from the root to `node`.
  void append_path(NodeIndex node, const BlockShape& shape, std::vector<typename Pool::ConstAddress>& entries) const;

 private:
  struct Node {
    NodeIndex parent;
    std::int32_t depth;
  };
  std::vector<Node> nodes_;
  std::vector<Address> blocks_;
};

/// Cross-attention cache of sentences that were encoded together: the entries of their input tokens.
template <typename T>
class EncoderCache {
 public:
  explicit EncoderCache(const BlockShape& shape) : shape_(shape) {}

  /// Discards all entries, and allocates memory for the entries of `tokens` tokens.
  void allocate(std::int64_t tokens) {
    blocks_ = bytes_.elements<T>((tokens + BlockShape::kTokens - 1) / BlockShape::kTokens * shape_.size());
  }

  /// Returns the token's entry in the first layer.
  T* entry(std::int64_t token) const {
    return blocks_ + token / BlockShape::kTokens * shape_.size() + token % BlockShape::kTokens * shape_.entry_size;
  }

 private:
  BlockShape shape_;
  kernels::AlignedBuffer bytes_;
  T* blocks_ = nullptr;
};

/// The cache entries that each new node of a step attends to: node r attends to `ranges[r].count` elements of
/// `entries`, from entries[ranges[r].begin] on. An element is the address of a cache entry in the first
/// layer.
template <typename T>
struct AttendedEntries {
  std::vector<kernels::SourceRange> ranges;
  std::vector<const T*> entries;

  void clear() {
    ranges.clear();
    entries.clear();
  }
};

/// Throws Error if the numbers of slots and inputs differ, a slot is negative or an input is empty.
void check_encoder_inputs(std::span<const std::int64_t> slots, std::span<const Tokens> inputs);

/// Throws Error, in the name of `step`, unless the slot of a new node holds an input.
void check_slot_of_node(bool has_input, std::int64_t slot);

struct KvCacheShape {
  std::int64_t self_layers;     // layers with self-attention entries
  std::int64_t cross_layers;    // layers with cross-attention entries
  std::int64_t width;           // elements of a key, and of a value
  std::int64_t extra_size = 0;  // elements that a model stores after the value, in self-attention entries only
};

/// The KV cache of a decoding batch. Each slot holds one sentence: the cross-attention entries of its input and the
/// self-attention entries of its hypotheses. The rows are the input tokens or new nodes that the latest call
/// of add_inputs or add_nodes added, in their order. T is float or BFloat16.
template <typename T>
class KvCache {
 public:
  explicit KvCache(const KvCacheShape& shape);

  /// Empties these slots and adds one cross-attention entry per token of their inputs. Throws Error if the numbers of
  /// slots and inputs differ, a slot is negative or an input is empty.
  void add_inputs(std::span<const std::int64_t> slots, std::span<const Tokens> inputs);

  /// Adds one self-attention entry per new node. Throws Error for a slot without an input, and for a parent that does
  /// not exist.
  void add_nodes(std::span<const NewNode> nodes);

  std::span<T* const> rows() const { return rows_; }  // addresses of the rows' entries in the first layer
  // For each row of the last add_nodes:
  const std::vector<std::int64_t>& tokens() const { return tokens_; }
  const std::vector<std::int64_t>& positions() const { return positions_; }
  const AttendedEntries<T>& ancestors() const { return ancestors_; }  // from the root to the row itself
  const AttendedEntries<T>& inputs() const { return inputs_; }        // the row's input

  /// Distance, in elements of T, from a token's entry in the first layer to its entry in layer number `layer`.
  std::int64_t self_offset(std::int64_t layer) const { return layer * node_pool_.shape().layer_step(); }
  std::int64_t cross_offset(std::int64_t layer) const { return layer * cross_shape_.layer_step(); }

 private:
  struct Slot {
    std::shared_ptr<EncoderCache<T>> encoder_cache;  // null: the slot is empty
    std::vector<const T*> input;
    HypothesisCache<BlockPool<T>> hypotheses;
  };

  std::shared_ptr<EncoderCache<T>> find_unused_encoder_cache();

  BlockShape cross_shape_;
  BlockPool<T> node_pool_;
  std::vector<Slot> slots_;
  std::vector<std::shared_ptr<EncoderCache<T>>> encoder_caches_;

  std::vector<T*> rows_;
  std::vector<std::int64_t> tokens_, positions_;
  AttendedEntries<T> ancestors_, inputs_;
};

/// For each r, converts the first `columns` elements of row r of the matrix `from` to T and writes them to
/// `entries[r] + offset`. Rows of `from` begin `stride` elements apart.
template <typename T>
void write_entries(std::span<T* const> entries, std::int64_t offset, std::int64_t columns, const float* from,
                   std::int64_t stride);

}  // namespace edgewise
