// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "edgewise/runtime/weights.h"
#include "edgewise/search/scorer.h"
#include "edgewise/search/shortlist.h"

namespace edgewise {

/// Computes the logits of the tokens that a shortlist selects for the inputs of a decoding batch. Their columns of the
/// output projection are copied into blocks of their own, each column once, and stay there until others need the place:
/// successive inputs have many tokens in common. A logit has the bits of the whole projection's. T is as in
/// packed_linear.h.
template <typename T>
class ShortlistColumns {
 public:
  /// `weights` must outlive the object. Without a shortlist, no other function may be called but is_on().
  ShortlistColumns(const Weights<T>& weights, std::shared_ptr<const Shortlist> shortlist);

  bool is_on() const { return shortlist_ != nullptr; }

  /// Selects the tokens of inputs[i] for slot slots[i].
  void set_inputs(std::span<const std::int64_t> slots, std::span<const Tokens> inputs);

  /// Returns the tokens of a slot in ascending order.
  std::span<const std::int32_t> tokens(std::int64_t slot) const;

  /// Computes the logits of the tokens of all slots that the nodes have. `states` has a row for each node. Other slots
  /// give up their places, and get places again when a node needs them.
  void compute(std::span<const NewNode> nodes, const Activations<T>& states);

  /// Writes the logits of a row of the last call of compute for the tokens of the slot of its node, [tokens].
  void copy_logits(std::int64_t row, std::int64_t slot, float* to) const;

 private:
  static constexpr std::int64_t kBlockColumns = 256;

  struct Slot {
    std::vector<std::int32_t> tokens;
    std::vector<std::int32_t> places;  // the places of the tokens; empty: the slot has none
    bool is_needed = false;            // in compute()
  };
  /// A column of the blocks.
  struct Place {
    std::int32_t token = -1;  // -1: the column is empty
    std::int32_t uses = 0;    // slots that need the token
    bool is_free = true;      // whether `free_` has the place; a place in use may be there, too
  };

  void assign_places(std::span<const NewNode> nodes);
  void take_places(Slot& slot);
  void leave_places(Slot& slot);
  void use_place(std::int32_t place);
  std::int32_t free_place();
  void add_block();
  std::int64_t num_blocks() const;  // up to the last one in use
  void close_gaps();

  const Weights<T>& weights_;
  std::shared_ptr<const Shortlist> shortlist_;
  std::vector<Slot> slots_;
  std::vector<std::int32_t> place_of_;  // by token; -1: no place has it
  std::vector<Place> places_;
  std::vector<std::int32_t> free_;        // a heap, the lowest place first: places that may be without uses
  std::vector<std::int64_t> block_uses_;  // places in use of each block
  std::int64_t num_used_ = 0;             // their sum
  std::vector<PackedLinear<T>> blocks_;
  FloatBuffer logits_buffer_;
  const float* logits_ = nullptr;  // [blocks, rows, kBlockColumns]
  std::int64_t num_rows_ = 0;
};

}  // namespace edgewise
