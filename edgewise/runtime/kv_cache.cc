// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/kv_cache.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

#include "edgewise/base/error.h"
#include "edgewise/kernels/attention/scatter_rows.h"

namespace edgewise {

void check_encoder_slots(std::span<const std::int64_t> slots, std::span<const Tokens> inputs) {
  check(slots.size() == inputs.size(), "encode: {} inputs have {} slots, needs one each", inputs.size(), slots.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    check(slots[i] >= 0, "encode: slot {} is {}, needs a number of at least 0", i, slots[i]);
  }
}

void check_encoder_inputs(std::span<const std::int64_t> slots, std::span<const Tokens> inputs) {
  check_encoder_slots(slots, inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    check(!inputs[i].empty(), "encode: input {} is empty, needs at least one token", i);
  }
}

void check_slot_of_node(bool has_input, std::int64_t slot) {
  check(has_input, "step: slot is {}, needs one that holds an input; call encode first", slot);
}

namespace {

/// Returns whether a token attends to all tokens before it, as without terms.
bool has_all_ancestors(const RelationTerms& terms) {
  return terms.empty() || std::ranges::any_of(terms, [](const RelationTerm& term) {
           return term.kind == TermKind::kCausal || term.kind == TermKind::kDocument;
         });
}

/// Returns how many of the last tokens, itself included, a token attends to at most by a term; nothing if there is no
/// limit. Sinks are not among the last tokens.
std::optional<std::int64_t> reach_of(const RelationTerm& term) {
  switch (term.kind) {
    case TermKind::kWindow:
    case TermKind::kBlocks:
      return term.size;
    case TermKind::kSinks:
      return 1;
    case TermKind::kDilated: {
      constexpr std::int64_t kMost = std::numeric_limits<NodeIndex>::max();
      if (term.step > kMost / term.size) return std::nullopt;
      return (term.size - 1) * term.step + 1;
    }
    default:
      return std::nullopt;
  }
}

/// Returns the reach of the relations together.
std::optional<std::int64_t> reach_of(const std::vector<RelationTerms>& relations) {
  std::int64_t reach = 1;
  for (const RelationTerms& terms : relations) {
    if (terms.empty()) return std::nullopt;
    for (const RelationTerm& term : terms) {
      const std::optional<std::int64_t> own = reach_of(term);
      if (!own) return std::nullopt;
      reach = std::max(reach, *own);
    }
  }
  return reach;
}

std::int64_t count_sinks(const std::vector<RelationTerms>& relations) {
  std::int64_t sinks = 0;
  for (const RelationTerms& terms : relations) {
    for (const RelationTerm& term : terms) {
      if (term.kind == TermKind::kSinks) sinks = std::max(sinks, term.size);
    }
  }
  return sinks;
}

}  // namespace

template <typename T>
KvCache<T>::KvCache(const KvCacheShape& shape)
    : cross_shape_{shape.cross_layers, 2 * shape.width},
      node_pool_({shape.self_layers, shape.self_size > 0 ? shape.self_size : 2 * shape.width}),
      relations_(shape.relations.empty() ? std::vector<RelationTerms>(1) : shape.relations),
      sinks_(count_sinks(relations_)),
      reach_(reach_of(relations_)),
      ancestors_(relations_.size()) {}

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
  clear_slots(slots);

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
void KvCache<T>::clear_slots(std::span<const std::int64_t> slots) {
  for (const std::int64_t number : slots) {
    if (number >= std::ssize(slots_)) slots_.resize(static_cast<std::size_t>(number) + 1, Slot(sinks_));
    Slot& slot = slots_[static_cast<std::size_t>(number)];
    slot.has_input = true;
    slot.encoder_cache = nullptr;
    slot.input.clear();
    slot.hypotheses.clear(node_pool_);
  }
}

/// Appends the entries that a new node attends to. If these are all ancestors, a node that follows that of the last row
/// shares this row's list, so that a part of a text of n tokens takes n entries.
template <typename T>
void KvCache<T>::append_ancestors(std::size_t relation, const Hypotheses& hypotheses, NodeIndex node,
                                  bool follows_last_row) {
  const auto& [terms, shape] = std::tie(relations_[relation], node_pool_.shape());
  auto& [ranges, entries, positions] = ancestors_[relation];
  const std::int64_t depth = hypotheses.depth(node);
  std::int64_t count = depth + 1;
  if (!has_all_ancestors(terms)) {
    attended_.clear();
    append_sources(terms, Direction::kCausal, {.token = depth, .length = depth + 1}, attended_);
    count = std::ssize(attended_);
    hypotheses.append_depths(node, attended_, shape, entries);
    positions.insert(positions.end(), attended_.begin(), attended_.end());
  } else if (follows_last_row) {
    entries.push_back(hypotheses.entry(node, shape));
  } else {
    hypotheses.append_path(node, shape, entries);
  }
  ranges.push_back({std::ssize(entries) - count, count});
}

/// Discards the nodes of a slot that the next nodes of the slot, with which `nodes` begins, and later ones cannot
/// attend to. The parents of the next nodes stay.
template <typename T>
void KvCache<T>::discard_before(std::span<const NewNode> nodes, Hypotheses& hypotheses) {
  if (!reach_) return;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const NewNode& node : nodes) {
    if (node.slot != nodes.front().slot) break;
    if (node.parent >= hypotheses.num_nodes()) continue;  // this step adds it
    least = std::min(least, node.parent < 0 ? 0 : hypotheses.depth(node.parent) + 1);
  }
  hypotheses.discard_below(least - std::max<std::int64_t>(*reach_ - 1, 1), node_pool_);
}

template <typename T>
void KvCache<T>::add_nodes(std::span<const NewNode> nodes) {
  tokens_.clear();
  positions_.clear();
  rows_.clear();
  for (AttendedEntries<T>& ancestors : ancestors_) ancestors.clear();
  inputs_.clear();
  std::int64_t last_slot = -1;
  NodeIndex last_number = HypothesisTree::kRoot;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const NewNode& node = nodes[i];
    const bool has_input =
        node.slot >= 0 && node.slot < std::ssize(slots_) && slots_[static_cast<std::size_t>(node.slot)].has_input;
    check_slot_of_node(has_input, node.slot);
    Slot& slot = slots_[static_cast<std::size_t>(node.slot)];
    if (node.slot != last_slot) discard_before(nodes.subspan(i), slot.hypotheses);
    const NodeIndex number = slot.hypotheses.add(node.parent, node_pool_, "step");
    tokens_.push_back(node.token);
    positions_.push_back(slot.hypotheses.depth(number));
    rows_.push_back(slot.hypotheses.entry(number, node_pool_.shape()));
    const bool follows_last_row =
        node.slot == last_slot && node.parent == last_number && node.parent != HypothesisTree::kRoot;
    for (std::size_t relation = 0; relation < relations_.size(); ++relation) {
      append_ancestors(relation, slot.hypotheses, number, follows_last_row);
    }
    if (node.slot != last_slot) inputs_.entries.insert(inputs_.entries.end(), slot.input.begin(), slot.input.end());
    inputs_.ranges.push_back({std::ssize(inputs_.entries) - std::ssize(slot.input), std::ssize(slot.input)});
    last_slot = node.slot;
    last_number = number;
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
