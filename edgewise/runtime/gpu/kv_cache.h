// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "edgewise/graph/relation_view.h"
#include "edgewise/runtime/gpu/array.h"
#include "edgewise/runtime/kv_cache.h"
#include "edgewise/search/scorer.h"

namespace edgewise {

/// The cache entries that each row attends to, as the edges of a relation: row r has `entries` from row_begin[r] to
/// row_begin[r + 1].
struct EntryLists {
  std::vector<EdgeIndex> row_begin = {0};
  std::vector<NodeIndex> entries;

  std::int64_t num_rows() const { return std::ssize(row_begin) - 1; }
  void clear();
  /// Ends a row, whose entries the caller has appended.
  void end_row() { row_begin.push_back(std::ssize(entries)); }
};

/// The KV cache of a decoding batch without its memory: it numbers the entries of input tokens and of nodes. An entry
/// of a number has a row in the keys and in the values of each layer (KeyValuePool). The rows are as those of KvCache.
class GpuCacheIndex {
 public:
  /// Empties these slots, and gives each token of their inputs an entry. Has the errors of KvCache::add_inputs().
  void add_inputs(std::span<const std::int64_t> slots, std::span<const Tokens> inputs);

  /// Gives each new node an entry. Has the errors of KvCache::add_nodes().
  void add_nodes(std::span<const NewNode> nodes);

  const std::vector<NodeIndex>& rows() const { return rows_; }
  // For each row of the last add_nodes:
  const std::vector<std::int64_t>& tokens() const { return tokens_; }
  const std::vector<std::int64_t>& positions() const { return positions_; }
  const EntryLists& ancestors() const { return ancestors_; }  // from the root to the row itself
  const EntryLists& inputs() const { return inputs_; }        // the row's input

  // The number of entries that the memory needs.
  std::int64_t num_input_entries() const { return input_pages_.num_entries(); }
  std::int64_t num_node_entries() const { return node_pages_.num_entries(); }

 private:
  struct Slot {
    std::vector<NodeIndex> pages;  // with the entries of `input`
    std::vector<NodeIndex> input;  // the entries of its tokens; empty: the slot is empty
    HypothesisCache<PageNumbers> hypotheses;
  };

  void clear(Slot& slot);

  PageNumbers input_pages_, node_pages_;
  std::vector<Slot> slots_;
  std::vector<NodeIndex> rows_;
  std::vector<std::int64_t> tokens_, positions_;
  EntryLists ancestors_, inputs_;
};

/// The keys and values of a KV cache in memory of the GPU: [layers, 2, entries, width], keys before values. T is float
/// or BFloat16.
template <typename T>
class KeyValuePool {
 public:
  KeyValuePool(std::int64_t layers, std::int64_t width) : layers_(layers), width_(width) {}

  /// Makes room for `entries` entries and keeps the content. Growth takes a copy of the content, in `stream`.
  void reserve(std::int64_t entries, const GpuStream& stream) {
    if (entries <= capacity_) return;
    const std::int64_t capacity = std::max(entries, 2 * capacity_);
    GpuArray<T> grown;
    T* const to = grown.allocate(2 * layers_ * capacity * width_, stream);
    for (std::int64_t plane = 0; plane < 2 * layers_ && capacity_ > 0; ++plane) {
      device::begin_copy(to + plane * capacity * width_, memory_.data() + plane * capacity_ * width_,
                         static_cast<std::size_t>(capacity_ * width_) * sizeof(T), stream);
    }
    memory_ = std::move(grown);
    capacity_ = capacity;
  }

  /// Returns the address of an entry's key in the first layer, valid until the pool grows.
  T* entry(NodeIndex number) { return memory_.data() + number * width_; }

  // The distance from an entry's key in the first layer to its key, or its value, in a layer.
  std::int64_t key_offset(std::int64_t layer) const { return 2 * layer * capacity_ * width_; }
  std::int64_t value_offset(std::int64_t layer) const { return (2 * layer + 1) * capacity_ * width_; }

  const T* keys(std::int64_t layer) const { return memory_.data() + key_offset(layer); }
  const T* values(std::int64_t layer) const { return memory_.data() + value_offset(layer); }
  std::int64_t num_entries() const { return capacity_; }

 private:
  std::int64_t layers_;
  std::int64_t width_;
  std::int64_t capacity_ = 0;
  GpuArray<T> memory_;
};

}  // namespace edgewise
