// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/base/bfloat16.h"
#include "edgewise/graph/relation_view.h"

// Copies and sums of the rows of matrices of M columns. T is float or BFloat16.
namespace edgewise::kernels {

/// The arguments of gather_rows(), to[i] = from[rows[i]], and of place_rows(), to[rows[i]] = from[i], for which `rows`
/// are all different.
template <typename T>
struct IndexedRows {
  const T* from;
  const NodeIndex* rows;  // [R]
  T* to;
  std::int64_t num_rows;  // R
  std::int64_t size;      // M
};

/// The arguments of sum_rows(): to[d] is the sum of from[source of e] over the edges e of destination d, 0 without
/// edges. For a relation with neither intervals nor sources, it is the sum of from[e].
template <typename T>
struct SumRows {
  const T* from;  // [S, M], or [E, M]
  T* to;          // [D, M]
  std::int64_t size;
};

namespace reference {

template <typename T>
void gather_rows(const IndexedRows<T>& p);
template <typename T>
void place_rows(const IndexedRows<T>& p);

/// Adds floats in the order of the edges, and rounds the sum once.
template <typename T>
void sum_rows(const SumRows<T>& p, const RelationView& relation);

}  // namespace reference
}  // namespace edgewise::kernels
