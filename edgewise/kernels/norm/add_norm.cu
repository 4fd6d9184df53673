// SPDX-License-Identifier: Apache-2.0
#include <type_traits>

#include "edgewise/kernels/dropout/dropout_factors_cuda.h"
#include "edgewise/kernels/gpu/chunks.h"
#include "edgewise/kernels/gpu/device.h"
#include "edgewise/kernels/norm/add_norm.h"

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

  /// Loads the numbers of a row of `size` numbers; numbers after its end are 0.
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
  /// shared memory, which can be used again after the next collective of the group.
  EDGEWISE_DEVICE static float sum(float value, Partial& partial, CallSite site = CallSite::current()) {
    value = reduce_lanes(value, Sum(), site);
    if constexpr (kWarps > 1) {
      if (lane_index() == 0) partial[group()][lane() / kWarpSize] = value;
      synchronize_named_barrier(1 + group(), kLanes, site);
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
        epsilon_outside(static_cast<float>(formula.epsilon_outside)),
        is_centred(formula.is_centred) {}

  float divisor;
  float epsilon_inside;
  float epsilon_outside;
  bool is_centred;
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
    const float mean =
        formula.is_centred ? Lanes::sum(total_of(sum), shared.totals) / static_cast<float>(size()) : 0.0f;
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
      Floats4 bias = {};
      if (p.bias != nullptr) bias = load_chunk<kIsWide>(p.bias + column, size() - column);
      Floats4 result;
      EDGEWISE_UNROLL
      for (int i = 0; i < kChunk; ++i) result.at[i] = (sum[c].at[i] - mean) * inverse * gain.at[i] + bias.at[i];
      store_chunk<kIsWide>(result, normed + column, size() - column);
    }
  }
};

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
    const float mean_g = formula.is_centred ? Lanes::sum(sum_g, shared.g) / static_cast<float>(size()) : 0.0f;
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
    if (column < size) {
      grad_gain[column] = sum;
    } else if (grad_bias != nullptr) {
      grad_bias[column - size] = sum;
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
