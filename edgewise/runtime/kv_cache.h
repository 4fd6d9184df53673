// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "edgewise/base/bfloat16.h"
#include "edgewise/graph/relation_terms.h"
#include "edgewise/kernels/attention/node_attention.h"
#include "edgewise/kernels/simd/scratch.h"
#include "edgewise/runtime/hypothesis_cache.h"
#include "edgewise/search/scorer.h"

// Memory of a KV cache. A cache entry holds the key and the value of one token in one layer, [2, W], and possibly more
// after them, where W is the size of a key; or what another first sublayer than self-attention keeps of a token.
// Entries lie in blocks, [layers, kTokens, entry size], so that the entries of one layer are adjacent. Entries never
// move: an address identifies an entry. T is float or BFloat16.
namespace edgewise {

/// Type of cached keys and values for weights of type T. The cache of int8 weights is BFloat16: each step reads the
/// whole cache, and more precision than the weights have would only cost bandwidth.
template <typename T>
using CacheElement = std::conditional_t<std::is_same_v<T, float>, float, BFloat16>;

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
  std::vector<std::int32_t> positions;  // places of the entries in their texts; empty: entry i of a node has position i

  void clear() {
    ranges.clear();
    entries.clear();
    positions.clear();
  }
};

/// Throws Error if the numbers of slots and inputs differ or a slot is negative.
void check_encoder_slots(std::span<const std::int64_t> slots, std::span<const Tokens> inputs);

/// Throws Error as check_encoder_slots does, and if an input is empty.
void check_encoder_inputs(std::span<const std::int64_t> slots, std::span<const Tokens> inputs);

/// Throws Error, in the name of `step`, unless the slot of a new node holds an input.
void check_slot_of_node(bool has_input, std::int64_t slot);

struct KvCacheShape {
  std::int64_t self_layers;    // layers with self-attention entries
  std::int64_t cross_layers;   // layers with cross-attention entries
  std::int64_t width;          // elements of a key, and of a value
  std::int64_t self_size = 0;  // elements of a self-attention entry; 0: those of a key and a value
  // The relations of self-attention: that of layer i has number i modulo their number. Empty: all ancestors.
  std::vector<RelationTerms> relations = {};
};

/// The KV cache of a decoding batch. Each slot holds one sentence: the cross-attention entries of its input and the
/// self-attention entries of its hypotheses. The rows are the input tokens or new nodes that the latest call
/// of add_inputs or add_nodes added, in their order. T is float or BFloat16.
///
/// If all relations consist of windows, blocks and sinks, a node is discarded as soon as no later one can attend to it:
/// then the nodes of a slot must be added in the order of their depths, and memory does not grow with the texts.
template <typename T>
class KvCache {
 public:
  explicit KvCache(const KvCacheShape& shape);

  /// Empties these slots and adds one cross-attention entry per token of their inputs. Throws Error if the numbers of
  /// slots and inputs differ, a slot is negative or an input is empty.
  void add_inputs(std::span<const std::int64_t> slots, std::span<const Tokens> inputs);

  /// Empties these slots, for a model without cross-attention: nodes may be added to them.
  void clear_slots(std::span<const std::int64_t> slots);

  /// Adds one self-attention entry per new node. Throws Error for a slot without an input, and for a parent that does
  /// not exist.
  void add_nodes(std::span<const NewNode> nodes);

  std::span<T* const> rows() const { return rows_; }  // addresses of the rows' entries in the first layer
  // For each row of the last add_nodes:
  const std::vector<std::int64_t>& tokens() const { return tokens_; }
  const std::vector<std::int64_t>& positions() const { return positions_; }
  /// The ancestors that the row attends to in a layer, from the root to the row itself.
  const AttendedEntries<T>& ancestors(std::size_t layer = 0) const { return ancestors_[layer % ancestors_.size()]; }
  const AttendedEntries<T>& inputs() const { return inputs_; }  // the row's input

  /// Distance, in elements of T, from a token's entry in the first layer to its entry in layer number `layer`.
  std::int64_t self_offset(std::int64_t layer) const { return layer * node_pool_.shape().layer_step(); }
  std::int64_t cross_offset(std::int64_t layer) const { return layer * cross_shape_.layer_step(); }

 private:
  using Hypotheses = HypothesisCache<BlockPool<T>>;

  struct Slot {
    explicit Slot(std::int64_t sinks) : hypotheses(sinks) {}

    bool has_input = false;                          // nodes may be added
    std::shared_ptr<EncoderCache<T>> encoder_cache;  // null without cross-attention
    std::vector<const T*> input;
    Hypotheses hypotheses;
  };

  std::shared_ptr<EncoderCache<T>> find_unused_encoder_cache();
  void discard_before(std::span<const NewNode> nodes, Hypotheses& hypotheses);
  void append_ancestors(std::size_t relation, const Hypotheses& hypotheses, NodeIndex node, bool follows_last_row);

  BlockShape cross_shape_;
  BlockPool<T> node_pool_;
  std::vector<Slot> slots_;
  std::vector<std::shared_ptr<EncoderCache<T>>> encoder_caches_;

  std::vector<RelationTerms> relations_;
  std::int64_t sinks_ = 0;             // first tokens that are never discarded
  std::optional<std::int64_t> reach_;  // the last tokens that a token attends to, itself included; nothing: all

  std::vector<T*> rows_;
  std::vector<std::int64_t> tokens_, positions_;
  std::vector<AttendedEntries<T>> ancestors_;  // by relation
  AttendedEntries<T> inputs_;
  std::vector<NodeIndex> attended_;  // positions that a row attends to
};

/// For each r, converts the first `columns` elements of row r of the matrix `from` to T and writes them to
/// `entries[r] + offset`. Rows of `from` begin `stride` elements apart.
template <typename T>
void write_entries(std::span<T* const> entries, std::int64_t offset, std::int64_t columns, const float* from,
                   std::int64_t stride);

}  // namespace edgewise
