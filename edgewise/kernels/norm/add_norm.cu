// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/dropout/dropout_factors_cuda.h"
#include "edgewise/kernels/norm/add_norm.h"
#include "edgewise/kernels/norm/row_lanes_cuda.h"

namespace edgewise::kernels {
namespace gpu {

template <typename X, typename Y, bool kIsWide>
struct AddDropoutKernel {
  static constexpr const char* kName = "add_dropout";
  static constexpr int kThreads = 256;
  static constexpr int kChunks = 4;
  using Chunks = FlatChunks<kThreads, kChunks>;
  struct Shared {};

  AddDropout<X, Y> p;
  DeviceDropoutFactors factors;

  EDGEWISE_DEVICE void operator()() const {
    Floats4 x[kChunks];
    Floats4 y[kChunks];
    EDGEWISE_UNROLL
    for (int c = 0; c < kChunks; ++c) {
      x[c] = load_chunk<kIsWide>(p.x + Chunks::first(c), p.count - Chunks::first(c));
      y[c] = load_chunk<kIsWide>(p.y + Chunks::first(c), p.count - Chunks::first(c));
    }
    EDGEWISE_UNROLL
    for (int c = 0; c < kChunks; ++c) {
      const std::int64_t first = Chunks::first(c);
      if (first >= p.count) return;
      store_chunk<kIsWide>(add(x[c], multiply(y[c], factors.chunk(first))), p.sum + first, p.count - first);
    }
  }
};

/// A group of lanes computes a row.
template <typename X, typename Y, typename N, class Lanes, bool kIsWide>
struct AddNormForwardKernel {
  static constexpr const char* kName = "add_norm_forward";
  static constexpr int kThreads = Lanes::kThreads;
  static constexpr int kChunks = Lanes::kChunks;

  struct Shared {
    typename Lanes::Partial totals;
    typename Lanes::Partial squares;
  };

  AddNormForward<X, Y, N> p;
  FloatNormFormula formula;
  DeviceDropoutFactors factors;

  EDGEWISE_DEVICE void operator()() const {
    Shared& shared = shared_memory<Shared>();
    const std::int64_t row = std::int64_t{block_index()} * Lanes::kGroups + Lanes::group();
    if (row >= p.num_rows) return;
    Floats4 sum[kChunks];
    Lanes::template load<kIsWide>(p.x + row * p.size, size(), sum);
    if (p.y != nullptr) {
      add_y(row, sum);
      Lanes::template store<kIsWide>(sum, p.sum + row * p.size, size());
    }
    const float mean = Lanes::sum(total_of(sum), shared.totals) / static_cast<float>(size());
    const float squares = Lanes::sum(squares_of(sum, mean), shared.squares);
    const float deviation = square_root(squares / formula.divisor + formula.epsilon_inside);
    if (Lanes::lane() == 0) {
      p.mean[row] = mean;
      p.deviation[row] = deviation;
    }
    write_normed(sum, mean, 1.0f / (deviation + formula.epsilon_outside), p.normed + row * p.size);
  }

 private:
  EDGEWISE_DEVICE int size() const { return static_cast<int>(p.size); }

  EDGEWISE_DEVICE void add_y(std::int64_t row, Floats4 (&sum)[kChunks]) const {
    Floats4 y[kChunks];
    Lanes::template load<kIsWide>(p.y + row * p.size, size(), y);
    EDGEWISE_UNROLL
    for (int c = 0; c < kChunks; ++c) {
      if (Lanes::column(c) >= size()) break;
      const Floats4 factor = factors.chunk(row * p.size + Lanes::column(c));
      sum[c] = round_chunk<X>(add(sum[c], multiply(y[c], factor)));
    }
  }

  EDGEWISE_DEVICE static float total_of(const Floats4 (&values)[kChunks]) {
    float total = 0;
    EDGEWISE_UNROLL
    for (int i = 0; i < kChunks * kChunk; ++i) total += values[i / kChunk].at[i % kChunk];
    return total;
  }

  EDGEWISE_DEVICE float squares_of(const Floats4 (&values)[kChunks], float mean) const {
    float squares = 0;
    EDGEWISE_UNROLL
    for (int c = 0; c < kChunks; ++c) {
      if (Lanes::column(c) >= size()) break;
      EDGEWISE_UNROLL
      for (int i = 0; i < kChunk; ++i) {
        if (!kIsWide && Lanes::column(c) + i >= size()) break;
        const float centred = values[c].at[i] - mean;
        squares = fused_multiply_add(centred, centred, squares);
      }
    }
    return squares;
  }

  EDGEWISE_DEVICE void write_normed(const Floats4 (&sum)[kChunks], float mean, float inverse, N* normed) const {
    EDGEWISE_UNROLL
    for (int c = 0; c < kChunks; ++c) {
      const int column = Lanes::column(c);
      const Floats4 gain = load_chunk<kIsWide>(p.gain + column, size() - column);
      const Floats4 bias = load_chunk<kIsWide>(p.bias + column, size() - column);
      Floats4 result;
      EDGEWISE_UNROLL
      for (int i = 0; i < kChunk; ++i) result.at[i] = (sum[c].at[i] - mean) * inverse * gain.at[i] + bias.at[i];
      store_chunk<kIsWide>(result, normed + column, size() - column);
    }
  }
};

}  // namespace gpu

template <typename X, typename Y>
void add_dropout(const AddDropout<X, Y>& p, device::Stream stream) {
  gpu::with_width(p.count, [&](auto is_wide) {
    using Kernel = gpu::AddDropoutKernel<X, Y, is_wide>;
    launch(Kernel{p, gpu::DeviceDropoutFactors(p.dropout)}, Kernel::Chunks::num_blocks(p.count), stream);
  });
}

template <typename X, typename Y, typename N>
void add_norm_forward(const AddNormForward<X, Y, N>& p, device::Stream stream) {
  gpu::with_row_lanes(p.size, [&](auto lanes, auto is_wide) {
    using Lanes = decltype(lanes);
    using Kernel = gpu::AddNormForwardKernel<X, Y, N, Lanes, is_wide>;
    const std::int64_t num_blocks = (p.num_rows + Lanes::kGroups - 1) / Lanes::kGroups;
    launch(Kernel{p, gpu::FloatNormFormula(p.formula), gpu::DeviceDropoutFactors(p.dropout)},
           static_cast<int>(num_blocks), stream);
  });
}

template void add_dropout(const AddDropout<float, float>&, device::Stream);
template void add_dropout(const AddDropout<float, BFloat16>&, device::Stream);
template void add_dropout(const AddDropout<BFloat16, BFloat16>&, device::Stream);
template void add_norm_forward(const AddNormForward<float, float, float>&, device::Stream);
template void add_norm_forward(const AddNormForward<float, float, BFloat16>&, device::Stream);
template void add_norm_forward(const AddNormForward<float, BFloat16, float>&, device::Stream);
template void add_norm_forward(const AddNormForward<float, BFloat16, BFloat16>&, device::Stream);
template void add_norm_forward(const AddNormForward<BFloat16, BFloat16, float>&, device::Stream);
template void add_norm_forward(const AddNormForward<BFloat16, BFloat16, BFloat16>&, device::Stream);

}  // namespace edgewise::kernels
