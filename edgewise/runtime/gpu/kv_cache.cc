// SPDX-License-Identifier: Apache-2.0

#include "edgewise/runtime/gpu/kv_cache.h"

namespace edgewise {

void EntryLists::clear() {
  row_begin.assign(1, 0);
  entries.clear();
}

void GpuCacheIndex::clear(Slot& slot) {
  for (const NodeIndex page : slot.pages) input_pages_.give_back(page);
  slot.pages.clear();
  slot.input.clear();
  slot.hypotheses.clear(node_pages_);
}

void GpuCacheIndex::add_inputs(std::span<const std::int64_t> slots, std::span<const Tokens> inputs) {
  check_encoder_inputs(slots, inputs);
  rows_.clear();
  if (inputs.empty()) return;
  const auto last = static_cast<std::size_t>(*std::ranges::max_element(slots));
  if (last >= slots_.size()) slots_.resize(last + 1);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Slot& slot = slots_[static_cast<std::size_t>(slots[i])];
    clear(slot);
    for (std::int64_t token = 0; token < std::ssize(inputs[i]); ++token) {
      const std::int64_t place = token % BlockShape::kTokens;
      if (place == 0) slot.pages.push_back(input_pages_.take());
      slot.input.push_back(static_cast<NodeIndex>(slot.pages.back() + place));
    }
    rows_.insert(rows_.end(), slot.input.begin(), slot.input.end());
  }
}

void GpuCacheIndex::add_nodes(std::span<const NewNode> nodes) {
  rows_.clear();
  tokens_.clear();
  positions_.clear();
  ancestors_.clear();
  inputs_.clear();
  for (const NewNode& node : nodes) {
    const bool has_input =
        node.slot >= 0 && node.slot < std::ssize(slots_) && !slots_[static_cast<std::size_t>(node.slot)].input.empty();
    check_slot_of_node(has_input, node.slot);
    Slot& slot = slots_[static_cast<std::size_t>(node.slot)];
    const NodeIndex number = slot.hypotheses.add(node.parent, node_pages_, "step");
    tokens_.push_back(node.token);
    positions_.push_back(slot.hypotheses.depth(number));
    rows_.push_back(slot.hypotheses.entry(number, PageNumbers::shape()));
    slot.hypotheses.append_path(number, PageNumbers::shape(), ancestors_.entries);
    ancestors_.end_row();
    inputs_.entries.insert(inputs_.entries.end(), slot.input.begin(), slot.input.end());
    inputs_.end_row();
  }
}

}  // namespace edgewise
