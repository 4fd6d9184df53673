// SPDX-License-Identifier: Apache-2.0
#include "edgewise/models/thinking.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>

#include <array>

#include "edgewise/graph/picked.h"
#include "edgewise/graph/relation_ops.h"
#include "edgewise/ops/rows.h"

namespace edgewise {

void append(at::Tensor& rows, const at::Tensor& more) { rows = rows.defined() ? at::cat({rows, more}) : more; }

StepSignals::StepSignals(const Positions& table, std::span<const std::int64_t> positions, at::ScalarType type)
    : table_(&table), positions_NM_(table(positions, type)) {}

at::Tensor StepSignals::operator()(std::span<const NodeIndex> nodes, std::int64_t step) const {
  const at::Tensor step_1M = (*table_)(std::span(&step, 1), positions_NM_.scalar_type());
  const bool is_whole = std::ssize(nodes) == positions_NM_.size(0);
  return (is_whole ? positions_NM_ : take_rows(positions_NM_, nodes)) + step_1M;
}

std::vector<NodeIndex> rows_by_node(const std::vector<NodeIndex>& active, const std::vector<NodeIndex>& halted) {
  std::vector<NodeIndex> rows(active.size() + halted.size());
  NodeIndex next = 0;
  for (const auto* nodes : {&active, &halted}) {
    for (const NodeIndex node : *nodes) rows[static_cast<std::size_t>(node)] = next++;
  }
  return rows;
}

ThinkingAttention::ThinkingAttention(const Relation& relation, const MultiHeadAttention& attention,
                                     const Sublayer& sublayer, HaltedKeys halted_keys, const StepSignals& signals)
    : relation_(&relation),
      attention_(&attention),
      sublayer_(&sublayer),
      halted_keys_(halted_keys),
      signals_(&signals) {}

at::Tensor ThinkingAttention::operator()(const std::vector<NodeIndex>& active, const at::Tensor& read_AM,
                                         std::int64_t step, Pass& pass) {
  made_ = attention_->get(read_AM);
  if (all_are_active()) return attention_->average(*relation_, made_.query, made_.key, made_.value, pass);
  if (halted_keys_ == HaltedKeys::kDropped) return among_active(active, made_, pass);

  const Projections others = of_halted(step, pass);
  const std::vector<NodeIndex> order = rows_by_node(active, halted_);
  const at::Tensor key = take_rows(std::array{made_.key, others.key}, order);
  const at::Tensor value = take_rows(std::array{made_.value, others.value}, order);
  return attention_->average(select_rows(*relation_, active), made_.query, key, value, pass);
}

at::Tensor ThinkingAttention::among_active(const std::vector<NodeIndex>& active, const Projections& made,
                                           Pass& pass) const {
  return attention_->average(select_nodes(*relation_, active, active), made.query, made.key, made.value, pass);
}

Projections ThinkingAttention::of_halted(std::int64_t step, Pass& pass) const {
  if (halted_keys_ != HaltedKeys::kRecomputed) return kept_;
  const at::Tensor x = states_ + (*signals_)(halted_, step);
  return attention_->get(sublayer_->begin(x, pass).read_TM, AttentionFields::kKeyValue);
}

void ThinkingAttention::halt(const std::vector<NodeIndex>& active, const std::vector<NodeIndex>& leaving,
                             const at::Tensor& x_AM, const Pass& pass) {
  const std::vector<NodeIndex> nodes = picked<NodeIndex>(active, leaving);
  halted_.insert(halted_.end(), nodes.begin(), nodes.end());
  switch (halted_keys_) {
    case HaltedKeys::kFrozen: {
      const at::Tensor read = sublayer_->begin(take_rows(x_AM, leaving), pass).read_TM;
      const Projections last = attention_->get(read, AttentionFields::kKeyValue);
      append(kept_.key, last.key);
      append(kept_.value, last.value);
      break;
    }
    case HaltedKeys::kStale:
      append(kept_.key, take_rows(made_.key, leaving));
      append(kept_.value, take_rows(made_.value, leaving));
      break;
    case HaltedKeys::kRecomputed:
      append(states_, take_rows(x_AM, leaving));
      break;
    case HaltedKeys::kDropped:
      break;
  }
}

Thought think(const ThinkingOptions& options, const at::Tensor& x_NM, const StepSignals& signals,
              const HaltingUnit& halting, ThinkingLayer& layer, Pass& pass) {
  Ponder ponder(x_NM.size(0), options.epsilon);
  std::vector<WeightedRows> parts;
  at::Tensor x_AM = x_NM;
  for (std::int64_t step = 0; step < options.most_steps && !ponder.active().empty(); ++step) {
    const std::vector<NodeIndex> active = ponder.active();
    x_AM = layer.step(active, pass.dropout(x_AM + signals(active, step), options.dropout), step, pass);
    if (!options.adapts) continue;

    const bool is_last = step + 1 == options.most_steps;
    const Ponder::Step done = ponder.step(halting(x_AM), is_last);
    parts.push_back({x_AM, done.weight_A, active});
    if (is_last || done.leaving.empty()) continue;
    layer.halt(active, done.leaving, x_AM, pass);
    x_AM = take_rows(x_AM, done.staying);
  }
  if (!options.adapts) {
    return {x_AM, std::vector<std::int64_t>(static_cast<std::size_t>(x_NM.size(0)), options.most_steps), {}};
  }
  return {sum_weighted(x_NM.size(0), parts), ponder.steps(), ponder.cost()};
}

}  // namespace edgewise
