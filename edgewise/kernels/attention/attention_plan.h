// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "edgewise/kernels/attention/attention.h"
#include "edgewise/kernels/attention/row_plan.h"
#include "edgewise/kernels/attention/tile_plan.h"

namespace edgewise::kernels {

/// The ways through attention.
enum class AttentionPath {
  kReference,  // plain loops
  kTiles,      // intervals and dense lists, as products of small dense matrices
  kRows,       // other lists, edge by edge
};

std::string_view attention_path_name(AttentionPath path);

/// Which way suits a relation, and what that way needs to know about it. Made once for a relation, whose memory
/// outlives the plan: O(destinations), and O(edges) more when backward first runs by rows.
class AttentionPlan {
 public:
  explicit AttentionPlan(const RelationView& relation);
  AttentionPlan(const AttentionPlan&) = delete;
  AttentionPlan& operator=(const AttentionPlan&) = delete;

  AttentionPath path() const { return tiles_ ? AttentionPath::kTiles : AttentionPath::kRows; }

  /// The path that T = float, double or BFloat16 takes: for double, and where the instruction set in force is the
  /// reference, it is the reference's.
  template <typename T>
  AttentionPath path_of() const;

  /// Weights a head that forward can keep for backward, so that it need not compute them again.
  template <typename T>
  std::int64_t num_kept_weights() const {
    return path_of<T>() == AttentionPath::kTiles ? tiles_->num_kept_weights : 0;
  }

  /// The relation in the form that the path wants.
  const RelationView& relation() const { return relation_; }

  /// Where the path is kTiles.
  const TilePlan& tiles() const { return *tiles_; }

  const RowPlan& rows() const { return *rows_; }

 private:
  RelationView relation_;
  std::optional<std::vector<Interval>> intervals_;  // of a relation whose lists are intervals
  std::optional<TilePlan> tiles_;
  std::optional<RowPlan> rows_;
};

/// By the path of the plan of p.relation, with the instruction set in force. T is float, double or BFloat16. For
/// double, and where the instruction set is the reference, the path is the reference's.
template <typename T>
void attention_forward(const AttentionForward<T>& p, const AttentionPlan& plan);

/// Overwrites all gradients. Sums in a fixed order whatever the number of threads.
template <typename T>
void attention_backward(const AttentionBackward<T>& p, const AttentionPlan& plan);

template <typename T>
void attention_weights(const AttentionWeights<T>& p, const AttentionPlan& plan);

}  // namespace edgewise::kernels
