// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/device/stream.h"
#include "edgewise/kernels/rows/rows.h"

// Copies and sums of rows on GPUs. All pointers are to memory of the device, and those to matrices are multiples of 16
// bytes. A size that is a multiple of 4 is fastest. The results have the bits of the reference, except that every NaN
// of BFloat16 may be another NaN.
namespace edgewise::kernels {

template <typename T>
void gather_rows(const IndexedRows<T>& p, device::Stream stream);
template <typename T>
void place_rows(const IndexedRows<T>& p, device::Stream stream);

/// The pointers of `relation` are to memory of the device, too. Takes time in proportion to the edges of the largest
/// row, because a warp adds one number after the other.
template <typename T>
void sum_rows(const SumRows<T>& p, const RelationView& relation, device::Stream stream);

}  // namespace edgewise::kernels
