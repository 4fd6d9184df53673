// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/kv_cache.h"

#include <algorithm>
#include <numeric>

#include "edgewise/base/error.h"
#include "edgewise/kernels/attention/scatter_rows.h"

namespace edgewise {

void check_encoder_inputs(std::span<const std::int64_t> slots, std::span<const Tokens> inputs) {
  check(slots.size() == inputs.size(), "encode: {} inputs have {} slots, needs one each", inputs.size(), slots.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    check(slots[i] >= 0, "encode: slot {} is {}, needs a number of at least 0", i, slots[i]);
    check(!inputs[i].empty(), "encode: input {} is empty, needs at least one token", i);
  }
}

void check_slot_of_node(bool has_input, std::int64_t slot) {
  check(has_input, "step: slot is {}, needs one that holds an input; call encode first", slot);
}

template <typename T>
KvCache<T>::KvCache(const KvCacheShape& shape)
    : cross_shape_{shape.cross_layers, 2 * shape.width},
      node_pool_({shape.self_layers, 2 * shape.width + shape.extra_size}) {}

template <typename T>
std::shared_ptr<EncoderCache<T>> KvCache<T>::find_unused_encoder_cache() {
  const auto is_unused = [](const auto& cache) { return cache.use_count() == 1; };  // no slot refers to the cache
  const auto unused = std::ranges::find_if(encoder_caches_, is_unused);
  if (unused != encoder_caches_.end()) return *unused;
  return encoder_caches_.emplace_back(std::make_shared<EncoderCache<T>>(cross_shape_));
}

template <typename T>
void KvCache<T>::add_inputs(std::span<const std::int64_t> slots, std::span<const Tokens> inputs) {
  check_encoder_inputs(slots, inputs);
  rows_.clear();
  if (inputs.empty()) return;
  const auto last = static_cast<std::size_t>(*std::ranges::max_element(slots));
  if (last >= slots_.size()) slots_.resize(last + 1);
  for (const std::int64_t number : slots) {
    Slot& slot = slots_[static_cast<std::size_t>(number)];
    slot.encoder_cache = nullptr;
    slot.hypotheses.clear(node_pool_);
  }

  const auto count = [](std::int64_t sum, const Tokens& input) { return sum + std::ssize(input); };
  const std::int64_t num_rows = std::accumulate(inputs.begin(), inputs.end(), std::int64_t{0}, count);
  const std::shared_ptr<EncoderCache<T>> cache = find_unused_encoder_cache();
  cache->allocate(num_rows);
  for (std::int64_t row = 0; row < num_rows; ++row) rows_.push_back(cache->entry(row));

  auto next = rows_.begin();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Slot& slot = slots_[static_cast<std::size_t>(slots[i])];
    slot.encoder_cache = cache;
    slot.input.assign(next, next + std::ssize(inputs[i]));
    next += std::ssize(inputs[i]);
  }
}

template <typename T>
void KvCache<T>::add_nodes(std::span<const NewNode> nodes) {
  tokens_.clear();
  positions_.clear();
  rows_.clear();
  ancestors_.clear();
  inputs_.clear();
  std::int64_t last_slot = -1;
  for (const NewNode& node : nodes) {
    const bool has_input = node.slot >= 0 && node.slot < std::ssize(slots_) &&
                           slots_[static_cast<std::size_t>(node.slot)].encoder_cache != nullptr;
    check_slot_of_node(has_input, node.slot);
    Slot& slot = slots_[static_cast<std::size_t>(node.slot)];
    const NodeIndex number = slot.hypotheses.add(node.parent, node_pool_, "step");
    tokens_.push_back(node.token);
    positions_.push_back(slot.hypotheses.depth(number));
    rows_.push_back(slot.hypotheses.entry(number, node_pool_.shape()));
    ancestors_.ranges.push_back({std::ssize(ancestors_.entries), positions_.back() + 1});
    slot.hypotheses.append_path(number, node_pool_.shape(), ancestors_.entries);
    if (node.slot != last_slot) inputs_.entries.insert(inputs_.entries.end(), slot.input.begin(), slot.input.end());
    inputs_.ranges.push_back({std::ssize(inputs_.entries) - std::ssize(slot.input), std::ssize(slot.input)});
    last_slot = node.slot;
  }
}

template <typename T>
void write_entries(std::span<T* const> entries, std::int64_t offset, std::int64_t columns, const float* from,
                   std::int64_t stride) {
  kernels::scatter_rows(kernels::ScatterRows<T>{.rows = std::ssize(entries),
                                                .columns = columns,
                                                .from = from,
                                                .stride = stride,
                                                .to = entries.data(),
                                                .offset = offset});
}

template class KvCache<float>;
template class KvCache<BFloat16>;
template void write_entries(std::span<float* const>, std::int64_t, std::int64_t, const float*, std::int64_t);
template void write_entries(std::span<BFloat16* const>, std::int64_t, std::int64_t, const float*, std::int64_t);

}  // namespace edgewise
