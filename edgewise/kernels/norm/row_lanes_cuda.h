// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include "edgewise/kernels/gpu/floats4.h"
#include "edgewise/kernels/gpu/reductions.h"
#include "edgewise/kernels/norm/add_norm.h"

namespace edgewise::kernels::gpu {

/// Divides the threads of a block into groups of kWarps warps. A group computes a row, whose numbers stay in registers:
/// a lane has kChunks chunks, and neighbouring lanes have neighbouring chunks.
template <int kWarps>
struct RowLanes {
  static constexpr int kLanes = kWarps * kWarpSize;
  static constexpr int kThreads = kWarps > 8 ? kLanes : 256;
  static constexpr int kGroups = kThreads / kLanes;
  static constexpr int kChunks = 4;
  static constexpr int kMaxSize = kLanes * kChunks * kChunk;

  using Partial = float[kGroups][kWarps];

  EDGEWISE_DEVICE static int group() { return thread_index() / kLanes; }
  EDGEWISE_DEVICE static int lane() { return thread_index() % kLanes; }
  EDGEWISE_DEVICE static int column(int chunk) { return (chunk * kLanes + lane()) * kChunk; }

  /// Loads the numbers of a row of `size` numbers; numbers behind its end are 0.
  template <bool kIsWide, typename T>
  EDGEWISE_DEVICE static void load(const T* row, int size, Floats4 (&values)[kChunks]) {
    EDGEWISE_UNROLL
    for (int c = 0; c < kChunks; ++c) values[c] = load_chunk<kIsWide>(row + column(c), size - column(c));
  }

  template <bool kIsWide, typename T>
  EDGEWISE_DEVICE static void store(const Floats4 (&values)[kChunks], T* row, int size) {
    EDGEWISE_UNROLL
    for (int c = 0; c < kChunks; ++c) store_chunk<kIsWide>(values[c], row + column(c), size - column(c));
  }

  /// Sums the values of the lanes of a group, each of which receives the sum. A collective of the group. `partial` is
  /// shared memory, which can be used again behind the next collective of the group.
  EDGEWISE_DEVICE static float sum(float value, Partial& partial, CallSite site = CallSite::current()) {
    value = reduce_lanes(value, Sum(), site);
    if constexpr (kWarps > 1) {
      if (lane_index() == 0) partial[group()][lane() / kWarpSize] = value;
      synchronize_group(1 + group(), kLanes, site);
      value = partial[group()][0];
      for (int warp = 1; warp < kWarps; ++warp) value += partial[group()][warp];
    }
    return value;
  }
};

/// Calls call(RowLanes, std::bool_constant<kIsWide>()) for rows of a size for which can_add_norm() is true.
template <class Call>
void with_row_lanes(std::int64_t size, Call&& call) {
  if (!is_wide(size)) {
    call(RowLanes<4>(), std::false_type());
  } else if (size <= RowLanes<1>::kMaxSize) {
    call(RowLanes<1>(), std::true_type());
  } else if (size <= RowLanes<4>::kMaxSize) {
    call(RowLanes<4>(), std::true_type());
  } else {
    call(RowLanes<16>(), std::true_type());
  }
}

/// A NormFormula for kernels, which have no double.
struct FloatNormFormula {
  explicit FloatNormFormula(const NormFormula& formula)
      : divisor(static_cast<float>(formula.divisor)),
        epsilon_inside(static_cast<float>(formula.epsilon_inside)),
        epsilon_outside(static_cast<float>(formula.epsilon_outside)) {}

  float divisor;
  float epsilon_inside;
  float epsilon_outside;
};

}  // namespace edgewise::kernels::gpu
