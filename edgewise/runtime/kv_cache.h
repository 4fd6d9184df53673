// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "edgewise/kernels/attention/node_attention.h"
#include "edgewise/runtime/kv_cache_blocks.h"
#include "edgewise/search/scorer.h"

namespace edgewise {

/// The cache entries that each new node of a step attends to: node r attends to `ranges[r].count` elements of
/// `entries`, of which the first is entries[ranges[r].begin]. An element is the address of a cache entry in the first
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
