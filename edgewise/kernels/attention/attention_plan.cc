// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/attention/attention_plan.h"

#include <type_traits>

#include "edgewise/base/error.h"
#include "edgewise/kernels/simd/instruction_set.h"

namespace edgewise::kernels {
namespace {

/// Each edge reads its vectors once, so that tiles, which share what they read, would be no faster than rows.
template <typename T>
bool has_edge_vectors(const AttentionForward<T>& p) {
  return p.edge_key != nullptr || p.edge_value != nullptr;
}

}  // namespace

std::string_view attention_path_name(AttentionPath path) {
  switch (path) {
    case AttentionPath::kReference:
      return "reference";
    case AttentionPath::kTiles:
      return "tiles";
    case AttentionPath::kRows:
      return "rows";
  }
  fail("attention_path_name: path is {}, needs one of AttentionPath", static_cast<int>(path));
}

AttentionPlan::AttentionPlan(const RelationView& relation) : relation_(relation) {
  if (relation.intervals == nullptr) {
    intervals_ = rows_as_intervals(relation);
    if (intervals_) {
      relation_.intervals = intervals_->data();
      relation_.sources = nullptr;
    }
  }
  rows_.emplace(relation_);
  if (relation_.sources == nullptr) {
    tiles_.emplace(relation_);
  } else {
    tiles_ = make_dense_tile_plan(relation_);
  }
}

template <typename T>
AttentionPath AttentionPlan::path_of() const {
  const bool is_reference = std::is_same_v<T, double> || instruction_set() == InstructionSet::kReference;
  return is_reference ? AttentionPath::kReference : path();
}

template <typename T>
void attention_forward(const AttentionForward<T>& p, const AttentionPlan& plan) {
  const AttentionPath path = plan.path_of<T>();
  if (path == AttentionPath::kReference) return reference::attention_forward(p, plan.relation());
  if constexpr (!std::is_same_v<T, double>) {
    if (path == AttentionPath::kTiles && !has_edge_vectors(p) && cpu::tile_attention_forward(p, plan.tiles())) return;
    cpu::row_attention_forward(p, plan.rows());
  }
}

template <typename T>
void attention_backward(const AttentionBackward<T>& p, const AttentionPlan& plan) {
  const AttentionPath path = plan.path_of<T>();
  if (path == AttentionPath::kReference) return reference::attention_backward(p, plan.relation());
  if constexpr (!std::is_same_v<T, double>) {
    if (path == AttentionPath::kTiles && !has_edge_vectors(p.forward) &&
        cpu::tile_attention_backward(p, plan.tiles())) {
      return;
    }
    cpu::row_attention_backward(p, plan.rows());
  }
}

/// Uses rows for every relation: writing each weight takes about the time that tiles would save.
template <typename T>
void attention_weights(const AttentionWeights<T>& p, const AttentionPlan& plan) {
  if (plan.path_of<T>() == AttentionPath::kReference) return reference::attention_weights(p, plan.relation());
  if constexpr (!std::is_same_v<T, double>) cpu::row_attention_weights(p, plan.rows());
}

template AttentionPath AttentionPlan::path_of<float>() const;
template AttentionPath AttentionPlan::path_of<double>() const;
template AttentionPath AttentionPlan::path_of<BFloat16>() const;
template void attention_forward(const AttentionForward<float>&, const AttentionPlan&);
template void attention_forward(const AttentionForward<double>&, const AttentionPlan&);
template void attention_forward(const AttentionForward<BFloat16>&, const AttentionPlan&);
template void attention_backward(const AttentionBackward<float>&, const AttentionPlan&);
template void attention_backward(const AttentionBackward<double>&, const AttentionPlan&);
template void attention_backward(const AttentionBackward<BFloat16>&, const AttentionPlan&);
template void attention_weights(const AttentionWeights<float>&, const AttentionPlan&);
template void attention_weights(const AttentionWeights<double>&, const AttentionPlan&);
template void attention_weights(const AttentionWeights<BFloat16>&, const AttentionPlan&);

}  // namespace edgewise::kernels
