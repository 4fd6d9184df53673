// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/shortlist_columns.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace edgewise {

template <typename T>
ShortlistColumns<T>::ShortlistColumns(const Weights<T>& weights, std::shared_ptr<const Shortlist> shortlist)
    : weights_(weights), shortlist_(std::move(shortlist)) {
  if (is_on()) place_of_.assign(static_cast<std::size_t>(weights.options.output_vocabulary), -1);
}

template <typename T>
void ShortlistColumns<T>::set_inputs(std::span<const std::int64_t> slots, std::span<const Tokens> inputs) {
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const auto index = static_cast<std::size_t>(slots[i]);
    if (index >= slots_.size()) slots_.resize(index + 1);
    leave_places(slots_[index]);
    slots_[index].tokens = shortlist_->select(inputs[i]);
  }
}

template <typename T>
std::span<const std::int32_t> ShortlistColumns<T>::tokens(std::int64_t slot) const {
  return slots_[static_cast<std::size_t>(slot)].tokens;
}

template <typename T>
void ShortlistColumns<T>::compute(std::span<const NewNode> nodes, const Activations<T>& states) {
  assign_places(nodes);
  num_rows_ = std::ssize(nodes);
  const std::int64_t count = num_blocks();
  float* logits = logits_buffer_.allocate(num_rows_, count * kBlockColumns);
  PackedLinear<T>::write_all(std::span(blocks_).first(static_cast<std::size_t>(count)), num_rows_, states, logits);
  logits_ = logits;
}

template <typename T>
void ShortlistColumns<T>::copy_logits(std::int64_t row, std::int64_t slot, float* to) const {
  const float* first = logits_ + row * kBlockColumns;
  for (const std::int32_t place : slots_[static_cast<std::size_t>(slot)].places) {
    *to++ = first[place / kBlockColumns * num_rows_ * kBlockColumns + place % kBlockColumns];
  }
}

template <typename T>
std::int64_t ShortlistColumns<T>::num_blocks() const {
  std::int64_t count = std::ssize(block_uses_);
  while (count > 0 && block_uses_[static_cast<std::size_t>(count - 1)] == 0) --count;
  return count;
}

template <typename T>
void ShortlistColumns<T>::assign_places(std::span<const NewNode> nodes) {
  for (const NewNode& node : nodes) slots_[static_cast<std::size_t>(node.slot)].is_needed = true;
  for (Slot& slot : slots_) {
    if (!slot.is_needed) leave_places(slot);
  }
  for (Slot& slot : slots_) {
    if (std::exchange(slot.is_needed, false) && slot.places.empty()) take_places(slot);
  }
  close_gaps();
}

/// Tokens that have a place already come first: a new one must not take it.
template <typename T>
void ShortlistColumns<T>::take_places(Slot& slot) {
  slot.places.clear();
  for (const std::int32_t token : slot.tokens) {
    const std::int32_t place = place_of_[static_cast<std::size_t>(token)];
    slot.places.push_back(place);
    if (place >= 0) use_place(place);
  }
  for (std::size_t i = 0; i < slot.tokens.size(); ++i) {
    if (slot.places[i] >= 0) continue;
    const std::int32_t token = slot.tokens[i];
    const std::int32_t place = free_place();
    std::int32_t& before = places_[static_cast<std::size_t>(place)].token;
    if (before >= 0) place_of_[static_cast<std::size_t>(before)] = -1;
    before = token;
    place_of_[static_cast<std::size_t>(token)] = slot.places[i] = place;
    const PackedLinear<T>& tile = weights_.output_projection[static_cast<std::size_t>(token / weights_.tile_size)];
    blocks_[static_cast<std::size_t>(place / kBlockColumns)].copy_result(place % kBlockColumns, tile,
                                                                         token % weights_.tile_size);
    use_place(place);
  }
}

template <typename T>
void ShortlistColumns<T>::use_place(std::int32_t place) {
  if (places_[static_cast<std::size_t>(place)].uses++ > 0) return;
  ++block_uses_[static_cast<std::size_t>(place / kBlockColumns)];
  ++num_used_;
}

template <typename T>
void ShortlistColumns<T>::leave_places(Slot& slot) {
  for (const std::int32_t number : slot.places) {
    Place& place = places_[static_cast<std::size_t>(number)];
    if (--place.uses > 0) continue;
    --block_uses_[static_cast<std::size_t>(number / kBlockColumns)];
    --num_used_;
    if (std::exchange(place.is_free, true)) continue;
    free_.push_back(number);
    std::ranges::push_heap(free_, std::greater<>());
  }
  slot.places.clear();
}

template <typename T>
std::int32_t ShortlistColumns<T>::free_place() {
  while (true) {
    if (free_.empty()) add_block();
    std::ranges::pop_heap(free_, std::greater<>());
    const std::int32_t place = free_.back();
    free_.pop_back();
    places_[static_cast<std::size_t>(place)].is_free = false;
    if (places_[static_cast<std::size_t>(place)].uses == 0) return place;
  }
}

template <typename T>
void ShortlistColumns<T>::add_block() {
  if (block_uses_.size() == blocks_.size()) {
    blocks_.push_back(PackedLinear<T>::make_like(weights_.output_projection.front(), kBlockColumns));
  }
  block_uses_.push_back(0);
  for (std::int64_t i = 0; i < kBlockColumns; ++i) {
    free_.push_back(static_cast<std::int32_t>(std::ssize(places_)));
    places_.emplace_back();
  }
  std::ranges::make_heap(free_, std::greater<>());
}

/// Assigns all places anew if fewer than half of the columns up to the last block in use are needed.
template <typename T>
void ShortlistColumns<T>::close_gaps() {
  const std::int64_t needed = (num_used_ + kBlockColumns - 1) / kBlockColumns;
  if (num_blocks() <= 2 * needed) return;
  std::ranges::fill(place_of_, -1);
  places_.clear();
  free_.clear();
  block_uses_.clear();
  num_used_ = 0;
  for (Slot& slot : slots_) {
    if (!slot.places.empty()) take_places(slot);
  }
}

template class ShortlistColumns<float>;
template class ShortlistColumns<BFloat16>;
template class ShortlistColumns<std::int8_t>;

}  // namespace edgewise
