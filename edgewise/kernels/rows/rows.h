// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/base/bfloat16.h"
#include "edgewise/device/stream.h"
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

/// Begins on a GPU in `stream`. All pointers are to memory of the device, and those to matrices are multiples of 16
/// bytes. A size that is a multiple of 4 is fastest. The results have the bits of the reference, except that every NaN
/// of BFloat16 may be another NaN.
template <typename T>
void gather_rows(const IndexedRows<T>& p, device::Stream stream);
template <typename T>
void place_rows(const IndexedRows<T>& p, device::Stream stream);

/// Begins under the conditions of gather_rows(). The pointers of `relation` are to memory of the device, too. Takes
/// time in proportion to the edges of the largest row, because a warp adds one number after the other.
template <typename T>
void sum_rows(const SumRows<T>& p, const RelationView& relation, device::Stream stream);

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
