// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "edgewise/kernels/attention/attention.h"
#include "edgewise/kernels/attention/row_attention.h"
#include "edgewise/kernels/attention/tile_attention.h"

namespace edgewise::kernels {

/// The implementations of attention, called paths.
enum class AttentionPath {
  kReference,  // plain loops
  kTiles,      // intervals and dense CSR rows, as products of small matrices
  kRows,       // other CSR rows, edge by edge
};

std::string_view attention_path_name(AttentionPath path);

/// The plan of a relation: the relation, the path that suits it, and the data that this path derives from it. The
/// relation's memory must outlive the plan. A plan takes O(destinations) time and memory for intervals, and O(edges)
/// for CSR.
class AttentionPlan {
 public:
  explicit AttentionPlan(const RelationView& relation);
  AttentionPlan(const AttentionPlan&) = delete;
  AttentionPlan& operator=(const AttentionPlan&) = delete;

  AttentionPath path() const { return tiles_ ? AttentionPath::kTiles : AttentionPath::kRows; }

  /// Returns the path for tensors of type T (float, double or BFloat16): kReference for double, and for every type
  /// while instruction_set() is InstructionSet::kReference.
  template <typename T>
  AttentionPath path_of() const;

  /// Returns how many attention weights forward can save per head, so that backward need not compute them again.
  template <typename T>
  std::int64_t num_saved_weights() const {
    return path_of<T>() == AttentionPath::kTiles ? tiles_->num_saved_weights : 0;
  }

  /// Returns the relation, as intervals if the sources of each row are consecutive.
  const RelationView& relation() const { return relation_; }

  /// Requires path() == AttentionPath::kTiles.
  const TilePlan& tiles() const { return *tiles_; }

  /// Every plan has these, whatever its path.
  const EdgeOrders& rows() const { return *rows_; }

 private:
  RelationView relation_;
  std::optional<std::vector<Interval>> intervals_;  // holds relation_.intervals if they were made from CSR
  std::optional<TilePlan> tiles_;
  std::optional<EdgeOrders> rows_;
};

/// Computes attention over plan.relation() with the path plan.path_of<T>(). T is float, double or BFloat16.
template <typename T>
void attention_forward(const AttentionForward<T>& p, const AttentionPlan& plan);

/// Computes the gradients of attention, without adding to old gradients. Each sum is computed in one fixed order, which
/// does not depend on the number of threads.
template <typename T>
void attention_backward(const AttentionBackward<T>& p, const AttentionPlan& plan);

/// Computes the attention weight of every edge and head.
template <typename T>
void attention_weights(const AttentionWeights<T>& p, const AttentionPlan& plan);

}  // namespace edgewise::kernels
