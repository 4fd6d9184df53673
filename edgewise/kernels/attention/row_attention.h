// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <vector>

#include "edgewise/graph/relation_view.h"
#include "edgewise/kernels/attention/attention.h"

// Attention edge by edge, for relations of any form and T = float or BFloat16. Copies one head at a time into
// contiguous tables, from which edges gather rows: keys and values; in backward also queries and gradients of outputs.
namespace edgewise::kernels {

/// The edges out of each source, in ascending order. The edges of source s have the indices `[begin[s], begin[s + 1])`.
struct EdgesBySource {
  std::vector<EdgeIndex> begin;        // [S + 1]
  std::vector<EdgeIndex> edge;         // [E]
  std::vector<NodeIndex> destination;  // [E]
};

/// Takes O(sources + edges) time and memory.
EdgesBySource group_by_source(const RelationView& relation);

/// A relation, whose memory must outlive the plan, and data that the row kernels derive from it.
class RowPlan {
 public:
  explicit RowPlan(const RelationView& relation);

  const RelationView& relation() const { return relation_; }

  /// Returns the number of edges of the longest row.
  EdgeIndex longest_row() const { return longest_row_; }

  /// Returns the edges by source. The first call computes them, since only backward needs them. Thread-safe.
  const EdgesBySource& by_source() const;

 private:
  RelationView relation_;
  EdgeIndex longest_row_ = 0;
  mutable std::once_flag by_source_once_;
  mutable EdgesBySource by_source_;
};

namespace cpu {

template <typename T>
void row_attention_forward(const AttentionForward<T>& p, const RowPlan& plan);

/// Overwrites all gradients, with the same bits for any number of threads. Allocates 8 bytes per edge and the tables.
template <typename T>
void row_attention_backward(const AttentionBackward<T>& p, const RowPlan& plan);

template <typename T>
void row_attention_weights(const AttentionWeights<T>& p, const RowPlan& plan);

}  // namespace cpu
}  // namespace edgewise::kernels
