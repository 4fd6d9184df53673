// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "edgewise/runtime/node_memory.h"
#include "edgewise/kernels/attention/node_attention.h"
#include "edgewise/search/scorer.h"

namespace edgewise {

/// Who sees whom: rows' ranges of one list of pieces.
template <typename T>
struct Sources {
  std::vector<kernels::SourceRange> ranges;
  std::vector<const T*> pieces;

  void clear() {
    ranges.clear();
    pieces.clear();
  }
};

struct DecodingShape {
  std::int64_t node_layers;   // in which hypotheses have keys and values
  std::int64_t input_layers;  // in which inputs have them
  std::int64_t width;         // of a key, and of a value
  std::int64_t more = 0;      // that a node of a hypothesis keeps behind them
};

/// Where the sentences that are being translated lie: in places, each with the keys and values of its input and of the
/// nodes of its hypotheses. What was read or added last is "the rows". T is what they are kept in.
template <typename T>
class DecodingMemory {
 public:
  explicit DecodingMemory(const DecodingShape& shape);

  /// Forgets what was in these places; tokens of their inputs become the rows. Throws Error for places and inputs that
  /// do not fit each other.
  void read(std::span<const std::int64_t> places, std::span<const Tokens> inputs);

  /// New nodes become the rows. Throws Error for a place that holds no input and a parent that is none.
  void add(std::span<const NewNode> nodes);

  std::span<T* const> rows() const { return rows_; }                   // their pieces in the first layer
  const std::vector<std::int64_t>& tokens() const { return tokens_; }  // of added rows
  const std::vector<std::int64_t>& positions() const { return positions_; }
  const Sources<T>& ancestors() const { return ancestors_; }  // whom added rows see, themselves included
  const Sources<T>& inputs() const { return inputs_; }        // and of their inputs

  /// From a piece in the first layer to the same in another.
  std::int64_t node_offset(std::int64_t layer) const { return layer * nodes_pool_.shape().layer_step(); }
  std::int64_t input_offset(std::int64_t layer) const { return layer * input_shape_.layer_step(); }

  std::int64_t width() const { return width_; }

 private:
  struct Place {
    InputMemory<T>* memory = nullptr;  // null: nothing was read
    std::vector<const T*> input;
    NodeMemory<T> nodes;
  };

  InputMemory<T>& free_memory();
  void forget(Place& place);

  std::int64_t width_;
  BlockShape input_shape_;
  BlockPool<T> nodes_pool_;
  std::vector<Place> places_;
  std::vector<std::unique_ptr<InputMemory<T>>> memories_;

  std::vector<T*> rows_;
  std::vector<std::int64_t> tokens_, positions_;
  Sources<T> ancestors_;
  Sources<T> inputs_;
};

/// Writes rows that begin `stride` apart into pieces.
template <typename T>
void write_pieces(std::span<T* const> pieces, std::int64_t offset, std::int64_t columns, const float* from,
                  std::int64_t stride);

}  // namespace edgewise
