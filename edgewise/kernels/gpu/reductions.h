// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/gpu/device.h"

// Reductions whose order of operations is fixed, so that results have the same bits in every run.
namespace edgewise::kernels::gpu {

struct Sum {
  template <typename T>
  EDGEWISE_DEVICE T operator()(T a, T b) const {
    return a + b;
  }
};

struct Maximum {
  template <typename T>
  EDGEWISE_DEVICE T operator()(T a, T b) const {
    return a > b ? a : b;
  }
};

struct Minimum {
  template <typename T>
  EDGEWISE_DEVICE T operator()(T a, T b) const {
    return a < b ? a : b;
  }
};

struct BitOr {
  template <typename T>
  EDGEWISE_DEVICE T operator()(T a, T b) const {
    return a | b;
  }
};

/// Combines the values of each group of kLanes consecutive lanes, a power of 2. Every lane receives the result of its
/// group. A collective of the whole warp. Takes log2(kLanes) shuffles.
template <int kLanes = kWarpSize, Word T, class Combine>
EDGEWISE_DEVICE T reduce_lanes(T value, Combine combine, CallSite site = CallSite::current()) {
  static_assert(kLanes >= 1 && kLanes <= kWarpSize && (kLanes & (kLanes - 1)) == 0);
  EDGEWISE_UNROLL
  for (int distance = kLanes / 2; distance > 0; distance /= 2) {
    value = combine(value, shuffle_xor(value, distance, kAllLanes, site));
  }
  return value;
}

/// Combines the values of all threads of a block of kThreads. Every thread receives the result. `partial` is shared
/// memory. A collective of the block, which begins and ends with synchronize_block(), so that `partial` can be used
/// again.
template <int kThreads, Word T, class Combine>
EDGEWISE_DEVICE T reduce_block(T value, Combine combine, T (&partial)[kThreads / kWarpSize],
                               CallSite site = CallSite::current()) {
  value = reduce_lanes(value, combine, site);
  synchronize_block(site);
  if (lane_index() == 0) partial[warp_index()] = value;
  synchronize_block(site);
  value = partial[0];
  for (int warp = 1; warp < kThreads / kWarpSize; ++warp) value = combine(value, partial[warp]);
  return value;
}

}  // namespace edgewise::kernels::gpu
