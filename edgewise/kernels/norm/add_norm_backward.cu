// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/dropout/dropout_factors_cuda.h"
#include "edgewise/kernels/norm/add_norm.h"
#include "edgewise/kernels/norm/row_lanes_cuda.h"

namespace edgewise::kernels {
namespace gpu {

/// A block computes the rows of a part, and the sums of their gradients of gain and bias. As in add_norm_reference.cc,
/// h is the normed row and g the gradient of h.
template <typename X, typename Y, typename N, class Lanes, bool kIsWide>
struct AddNormBackwardKernel {
  static constexpr const char* kName = "add_norm_backward";
  static constexpr int kThreads = Lanes::kThreads;
  static constexpr int kChunks = Lanes::kChunks;

  struct Shared {
    typename Lanes::Partial g;
    typename Lanes::Partial gh;
    // The gradients of gain and bias, summed over the rows of each group. A lane reads and writes its own columns; in
    // registers, they would halve the number of warps.
    alignas(16) float gain[Lanes::kGroups][Lanes::kMaxSize];
    alignas(16) float bias[Lanes::kGroups][Lanes::kMaxSize];
  };

  AddNormBackward<X, Y, N> p;
  FloatNormFormula formula;
  DeviceDropoutFactors factors;
  std::int64_t rows_of_part;
  float* part_sums;  // [parts, 2, M]

  EDGEWISE_DEVICE void operator()() const {
    const std::int64_t begin = block_index() * rows_of_part;
    const std::int64_t end = Minimum()(begin + rows_of_part, p.num_rows);
    EDGEWISE_UNROLL
    for (int c = 0; c < kChunks; ++c) {
      sum_of(shared_memory<Shared>().gain, c) = {};
      sum_of(shared_memory<Shared>().bias, c) = {};
    }
    for (std::int64_t row = begin + Lanes::group(); row < end; row += Lanes::kGroups) compute_row(row);
    write_part();
  }

 private:
  EDGEWISE_DEVICE int size() const { return static_cast<int>(p.size); }

  /// Returns this lane's chunk number c of gain or bias in shared memory.
  EDGEWISE_DEVICE static Floats4& sum_of(float (&sums)[Lanes::kGroups][Lanes::kMaxSize], int c) {
    return *reinterpret_cast<Floats4*>(&sums[Lanes::group()][Lanes::column(c)]);
  }

  EDGEWISE_DEVICE void compute_row(std::int64_t row) const {
    Shared& shared = shared_memory<Shared>();
    const std::int64_t begin = row * p.size;
    const float mean = p.mean[row];
    const float deviation = p.deviation[row];
    const float inverse = 1.0f / (deviation + formula.epsilon_outside);
    Floats4 h[kChunks];
    Floats4 g[kChunks];
    Floats4 grad_sum[kChunks] = {};
    Lanes::template load<kIsWide>(p.sum + begin, size(), h);
    Lanes::template load<kIsWide>(p.grad_normed + begin, size(), g);
    if (p.grad_sum != nullptr) Lanes::template load<kIsWide>(p.grad_sum + begin, size(), grad_sum);

    EDGEWISE_UNROLL
    for (int c = 0; c < kChunks; ++c) {
      Floats4 gain = sum_of(shared.gain, c);
      EDGEWISE_UNROLL
      for (int i = 0; i < kChunk; ++i) {
        h[c].at[i] = (h[c].at[i] - mean) * inverse;
        gain.at[i] = fused_multiply_add(g[c].at[i], h[c].at[i], gain.at[i]);
      }
      sum_of(shared.gain, c) = gain;
      sum_of(shared.bias, c) = add(sum_of(shared.bias, c), g[c]);
    }
    float sum_g = 0;
    float sum_gh = 0;
    EDGEWISE_UNROLL
    for (int c = 0; c < kChunks; ++c) {
      g[c] = multiply(g[c], load_chunk<kIsWide>(p.gain + Lanes::column(c), size() - Lanes::column(c)));
      EDGEWISE_UNROLL
      for (int i = 0; i < kChunk; ++i) {
        sum_g += g[c].at[i];
        sum_gh = fused_multiply_add(g[c].at[i], h[c].at[i], sum_gh);
      }
    }
    const float mean_g = Lanes::sum(sum_g, shared.g) / static_cast<float>(size());
    const float total_gh = Lanes::sum(sum_gh, shared.gh);
    const float h_factor = deviation > 0 ? total_gh / (formula.divisor * deviation) : 0.0f;
    EDGEWISE_UNROLL
    for (int c = 0; c < kChunks; ++c) {
      Floats4 grad;
      EDGEWISE_UNROLL
      for (int i = 0; i < kChunk; ++i) {
        grad.at[i] = fused_multiply_add(-h[c].at[i], h_factor, (g[c].at[i] - mean_g) * inverse) + grad_sum[c].at[i];
      }
      store_gradients(begin, c, round_chunk<X>(grad));
    }
  }

  /// Stores a chunk of the gradients of x, and of y.
  EDGEWISE_DEVICE void store_gradients(std::int64_t begin, int c, const Floats4& grad_x) const {
    const int column = Lanes::column(c);
    if (column >= size()) return;
    store_chunk<kIsWide>(grad_x, p.grad_x + begin + column, size() - column);
    if (p.grad_y == nullptr) return;
    store_chunk<kIsWide>(multiply(grad_x, factors.chunk(begin + column)), p.grad_y + begin + column, size() - column);
  }

  /// Sums over the groups of the block.
  EDGEWISE_DEVICE void write_part() const {
    const Shared& shared = shared_memory<Shared>();
    synchronize_block();
    float* const gain_M = part_sums + 2 * block_index() * p.size;
    float* const bias_M = gain_M + p.size;
    for (int column = thread_index(); column < size(); column += kThreads) {
      float gain = 0;
      float bias = 0;
      for (int group = 0; group < Lanes::kGroups; ++group) {
        gain += shared.gain[group][column];
        bias += shared.bias[group][column];
      }
      gain_M[column] = gain;
      bias_M[column] = bias;
    }
  }
};

/// Sums the gradients of gain and bias over the parts. A lane has a column, and a warp every kWarps-th part.
struct SumNormParts {
  static constexpr const char* kName = "sum_norm_parts";
  static constexpr int kThreads = 256;
  static constexpr int kWarps = kThreads / kWarpSize;
  static constexpr int kAtOnce = 8;  // loads that do not wait for each other

  struct Shared {
    float sums[kWarps][kWarpSize];
  };

  const float* part_sums;  // [parts, 2, M]
  std::int64_t num_parts;
  std::int64_t size;  // M
  float* grad_gain;
  float* grad_bias;

  int num_blocks() const { return static_cast<int>((2 * size + kWarpSize - 1) / kWarpSize); }

  EDGEWISE_DEVICE void operator()() const {
    Shared& shared = shared_memory<Shared>();
    const std::int64_t column = std::int64_t{block_index()} * kWarpSize + lane_index();
    float sum = 0;
    for (std::int64_t first = warp_index(); first < num_parts; first += std::int64_t{kWarps} * kAtOnce) {
      float values[kAtOnce] = {};
      EDGEWISE_UNROLL
      for (int i = 0; i < kAtOnce; ++i) {
        const std::int64_t part = first + std::int64_t{i} * kWarps;
        if (part < num_parts && column < 2 * size) values[i] = part_sums[part * 2 * size + column];
      }
      EDGEWISE_UNROLL
      for (int i = 0; i < kAtOnce; ++i) sum += values[i];
    }
    shared.sums[warp_index()][lane_index()] = sum;
    synchronize_block();
    if (warp_index() > 0 || column >= 2 * size) return;
    for (int warp = 1; warp < kWarps; ++warp) sum += shared.sums[warp][lane_index()];
    (column < size ? grad_gain[column] : grad_bias[column - size]) = sum;
  }
};

}  // namespace gpu

template <typename X, typename Y, typename N>
void add_norm_backward(const AddNormBackward<X, Y, N>& p, float* workspace, device::Stream stream) {
  const AddNormParts parts(p.num_rows);
  gpu::with_row_lanes(p.size, [&](auto lanes, auto is_wide) {
    using Kernel = gpu::AddNormBackwardKernel<X, Y, N, decltype(lanes), is_wide>;
    launch(Kernel{p, gpu::FloatNormFormula(p.formula), gpu::DeviceDropoutFactors(p.dropout), parts.rows_of_part,
                  workspace},
           static_cast<int>(parts.num_parts), stream);
  });
  const gpu::SumNormParts sum = {workspace, parts.num_parts, p.size, p.grad_gain, p.grad_bias};
  launch(sum, sum.num_blocks(), stream);
}

template void add_norm_backward(const AddNormBackward<float, float, float>&, float*, device::Stream);
template void add_norm_backward(const AddNormBackward<float, float, BFloat16>&, float*, device::Stream);
template void add_norm_backward(const AddNormBackward<float, BFloat16, float>&, float*, device::Stream);
template void add_norm_backward(const AddNormBackward<float, BFloat16, BFloat16>&, float*, device::Stream);
template void add_norm_backward(const AddNormBackward<BFloat16, BFloat16, float>&, float*, device::Stream);
template void add_norm_backward(const AddNormBackward<BFloat16, BFloat16, BFloat16>&, float*, device::Stream);

}  // namespace edgewise::kernels
