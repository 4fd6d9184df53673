// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "edgewise/kernels/gpu/chunks.h"
#include "edgewise/kernels/gpu/device.h"
#include "edgewise/kernels/optimiser/adam.h"

namespace edgewise::kernels {
namespace gpu {

template <bool kIsWide>
struct AdamKernel {
  static constexpr const char* kName = "adam_update";
  static constexpr int kThreads = 256;
  using Chunks = FlatChunks<kThreads, 1>;
  struct Shared {};
  static_assert(kElementsPerFlag % kChunk == 0);

  AdamArguments p;
  AdamFactors factors;

  EDGEWISE_DEVICE void operator()() const {
    const std::int64_t first = Chunks::first(0);
    const std::int64_t count = p.count - first;
    if (count <= 0) return;
    Floats4 gradient = load_chunk<kIsWide>(p.gradient + first, count);
    Floats4 mean = load_chunk<kIsWide>(p.mean + first, count);
    Floats4 variance = load_chunk<kIsWide>(p.variance + first, count);
    Floats4 value = load_chunk<kIsWide>(p.value + first, count);
    const bool is_matrix = p.is_matrix != nullptr && p.is_matrix[first / kElementsPerFlag] != 0;
    const float divisor = *p.divisor;
    if (!(divisor - divisor == 0)) return;  // not finite

    EDGEWISE_UNROLL
    for (int i = 0; i < kChunk; ++i) {
      gradient.at[i] = gradient.at[i] / divisor;
      if (is_matrix) value.at[i] = value.at[i] * factors.decay;
      mean.at[i] = interpolate(mean.at[i], gradient.at[i]);
      variance.at[i] =
          fused_multiply_add(factors.square_weight * gradient.at[i], gradient.at[i], variance.at[i] * factors.beta2);
      const float deviation = square_root(variance.at[i]) / factors.variance_correction + factors.epsilon;
      value.at[i] = value.at[i] - factors.rate * mean.at[i] / deviation;
    }
    store_chunk<kIsWide>(mean, p.mean + first, count);
    store_chunk<kIsWide>(variance, p.variance + first, count);
    store_chunk<kIsWide>(value, p.value + first, count);
    if (p.divided_gradient != nullptr) store_chunk<kIsWide>(gradient, p.divided_gradient + first, count);
  }

 private:
  EDGEWISE_DEVICE float interpolate(float from, float to) const {
    const float weight = factors.mean_weight;
    return weight < 0.5f ? fused_multiply_add(weight, to - from, from)
                         : fused_multiply_add(weight - 1.0f, to - from, to);
  }
};

/// A block sums the squares of a part of the values.
template <bool kIsWide>
struct SumSquaresKernel {
  static constexpr const char* kName = "sum_squares";
  static constexpr int kThreads = 256;
  static constexpr int kChunks = 8;
  using Chunks = FlatChunks<kThreads, kChunks>;
  static_assert(Chunks::kNumbersOfBlock == kSquaresPerPart);

  struct Shared {
    float of_warps[kThreads / kWarpSize];
  };

  const float* values;
  std::int64_t count;
  float* part_sums;

  EDGEWISE_DEVICE void operator()() const {
    Floats4 chunks[kChunks];
    EDGEWISE_UNROLL
    for (int c = 0; c < kChunks; ++c) {
      chunks[c] = load_chunk<kIsWide>(values + Chunks::first(c), count - Chunks::first(c));
    }
    float sum = 0;
    EDGEWISE_UNROLL
    for (int i = 0; i < kChunks * kChunk; ++i) {
      const float value = chunks[i / kChunk].at[i % kChunk];
      sum = fused_multiply_add(value, value, sum);
    }
    sum = reduce_block<kThreads>(sum, Sum(), shared_memory<Shared>().of_warps);
    if (thread_index() == 0) part_sums[block_index()] = sum;
  }
};

/// Sums the parts in one block.
struct SumParts {
  static constexpr const char* kName = "sum_parts";
  static constexpr int kThreads = 1024;

  struct Shared {
    double sums[kThreads];
    double of_lanes[kWarpSize];
  };

  const float* part_sums;
  std::int64_t num_parts;
  double* sum;

  EDGEWISE_DEVICE void operator()() const {
    Shared& shared = shared_memory<Shared>();
    double own = 0;
    for (std::int64_t part = thread_index(); part < num_parts; part += kThreads) own += part_sums[part];
    shared.sums[thread_index()] = own;
    synchronize_block();
    if (warp_index() > 0) return;
    double of_lane = 0;
    for (int i = lane_index(); i < kThreads; i += kWarpSize) of_lane += shared.sums[i];
    shared.of_lanes[lane_index()] = of_lane;
    synchronize_warp();
    if (lane_index() > 0) return;
    double total = 0;
    for (int lane = 0; lane < kWarpSize; ++lane) total += shared.of_lanes[lane];
    *sum = total;
  }
};

struct DivideByNormKernel {
  static constexpr const char* kName = "divide_by_norm";
  static constexpr int kThreads = kWarpSize;
  struct Shared {};

  DivideByNorm p;

  EDGEWISE_DEVICE void operator()() const {
    if (thread_index() > 0) return;
    const double norm = square_root(*p.sum_of_squares) / p.tokens;
    const bool is_clipped = p.clip_norm > 0 && norm > p.clip_norm;
    const double divisor = p.tokens * (is_clipped ? norm / p.clip_norm : 1.0);
    constexpr double kMaxFloat = std::numeric_limits<float>::max();  // a clip_norm near 0 gives a larger divisor
    const bool is_finite = norm - norm == 0;
    *p.divisor =
        is_finite ? static_cast<float>(Minimum()(divisor, kMaxFloat)) : std::numeric_limits<float>::quiet_NaN();
    if (p.norm != nullptr) *p.norm = norm;
  }
};

}  // namespace gpu

void adam_update(const AdamArguments& p, device::Stream stream) {
  gpu::with_width(p.count, [&](auto is_wide) {
    using Kernel = gpu::AdamKernel<is_wide>;
    launch(Kernel{p, AdamFactors(p)}, Kernel::Chunks::num_blocks(p.count), stream);
  });
}

void sum_squares(const float* values, std::int64_t count, float* workspace, double* sum, device::Stream stream) {
  const std::int64_t num_parts = sum_squares_workspace(count);
  gpu::with_width(count, [&](auto is_wide) {
    launch(gpu::SumSquaresKernel<is_wide>{values, count, workspace}, static_cast<int>(num_parts), stream);
  });
  launch(gpu::SumParts{workspace, num_parts, sum}, 1, stream);
}

void divide_by_norm(const DivideByNorm& p, device::Stream stream) { launch(gpu::DivideByNormKernel{p}, 1, stream); }

}  // namespace edgewise::kernels
