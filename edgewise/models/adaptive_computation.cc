// SPDX-License-Identifier: Apache-2.0
#include "edgewise/models/adaptive_computation.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>

#include <array>

#include "edgewise/graph/gather.h"
#include "edgewise/graph/relation_ops.h"
#include "edgewise/ops/rows.h"

namespace edgewise {

void append_rows(at::Tensor& rows, const at::Tensor& more) { rows = rows.defined() ? at::cat({rows, more}) : more; }

CoordinateEmbeddings::CoordinateEmbeddings(const PositionEncodings& table, std::span<const std::int64_t> positions,
                                           const at::TensorOptions& options, std::span<const std::int64_t> mirrored)
    : table_(&table), positions_NM_(table(positions, options, mirrored)) {}

at::Tensor CoordinateEmbeddings::operator()(std::span<const NodeIndex> nodes, std::int64_t step) const {
  const at::Tensor step_1M = (*table_)(std::span(&step, 1), positions_NM_.options());
  const bool has_all_nodes = std::ssize(nodes) == positions_NM_.size(0);
  return (has_all_nodes ? positions_NM_ : take_rows(positions_NM_, nodes)) + step_1M;
}

std::vector<NodeIndex> rows_by_node(const std::vector<NodeIndex>& active, const std::vector<NodeIndex>& halted) {
  std::vector<NodeIndex> rows(active.size() + halted.size());
  NodeIndex next = 0;
  for (const auto* nodes : {&active, &halted}) {
    for (const NodeIndex node : *nodes) rows[static_cast<std::size_t>(node)] = next++;
  }
  return rows;
}

AdaptiveAttention::AdaptiveAttention(const Relation& relation, const MultiHeadAttention& attention,
                                     const Sublayer& sublayer, HaltedKeys halted_keys)
    : relation_(&relation), attention_(&attention), sublayer_(&sublayer), halted_keys_(halted_keys) {}

at::Tensor AdaptiveAttention::operator()(const std::vector<NodeIndex>& active, const at::Tensor& input_AM, Pass& pass) {
  const Projections projected = attention_->get(input_AM);
  const auto average = [&](const Relation& relation, const at::Tensor& key, const at::Tensor& value) {
    return attention_->average(relation, projected.query, key, value, pass);
  };
  if (halted_.empty()) return average(*relation_, projected.key, projected.value);
  if (halted_keys_ == HaltedKeys::kDropped) {
    return average(select_nodes(*relation_, active, active), projected.key, projected.value);
  }
  const std::vector<NodeIndex> order = rows_by_node(active, halted_);
  const at::Tensor all_keys = take_rows(std::array{projected.key, frozen_.key}, order);
  const at::Tensor all_values = take_rows(std::array{projected.value, frozen_.value}, order);
  return average(select_rows(*relation_, active), all_keys, all_values);
}

void AdaptiveAttention::halt(const std::vector<NodeIndex>& active, const std::vector<NodeIndex>& halting,
                             const at::Tensor& x_AM, const Pass& pass) {
  const std::vector<NodeIndex> nodes = gather<NodeIndex>(active, halting);
  halted_.insert(halted_.end(), nodes.begin(), nodes.end());
  if (halted_keys_ == HaltedKeys::kDropped) return;
  const at::Tensor input = sublayer_->begin(take_rows(x_AM, halting), pass).input_TM;
  const Projections last = attention_->get(input, AttentionFields::kKeyValue);
  append_rows(frozen_.key, last.key);
  append_rows(frozen_.value, last.value);
}

AdaptiveResult run_adaptive_steps(const AdaptiveOptions& options, const at::Tensor& x_NM,
                                  const CoordinateEmbeddings& coordinates, const HaltingUnit& halting_unit,
                                  AdaptiveLayer& layer, Pass& pass) {
  HaltingState state(x_NM.size(0), options.epsilon);
  std::vector<WeightedRows> parts;
  at::Tensor x_AM = x_NM;
  for (std::int64_t step = 0; step < options.max_steps && !state.active().empty(); ++step) {
    const std::vector<NodeIndex> active = state.active();
    at::Tensor input_AM = x_AM + coordinates(active, step);
    if (options.injects_input && step > 0) {
      const bool has_all_nodes = std::ssize(active) == x_NM.size(0);
      input_AM = input_AM + (has_all_nodes ? x_NM : take_rows(x_NM, active));
    }
    x_AM = layer.step(active, pass.dropout(input_AM, options.dropout), step, pass);
    if (!options.is_adaptive) continue;

    const bool is_last = step + 1 == options.max_steps;
    const HaltingState::Step done = state.step(halting_unit(x_AM), is_last);
    parts.push_back({x_AM, done.weight_A, active});
    if (is_last || done.halting.empty()) continue;
    layer.halt(active, done.halting, x_AM, pass);
    x_AM = take_rows(x_AM, done.continuing);
  }
  if (!options.is_adaptive) {
    return {x_AM, std::vector<std::int64_t>(static_cast<std::size_t>(x_NM.size(0)), options.max_steps), {}};
  }
  return {sum_weighted(x_NM.size(0), parts), state.steps(), state.cost()};
}

}  // namespace edgewise
