// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>
#include <string>
#include <type_traits>

#include "edgewise/base/bfloat16.h"
#include "edgewise/kernels/dropout/dropout_factors_cuda.h"
#include "edgewise/kernels/gemm/activation.h"
#include "edgewise/kernels/gemm/linear_gradient.h"
#include "edgewise/kernels/gpu/chunks.h"
#include "edgewise/kernels/gpu/device.h"

// Activations and their derivatives. GELU and SiLU are x F(x), where F is a distribution function: of the normal and of
// the logistic distribution; GELU by tanh is x F(u(x)) with the logistic one. Both are symmetric, so F follows from the
// probability of numbers beyond |x|, its tail.
namespace edgewise::kernels {
namespace gpu {

/// Calls call(std::integral_constant<GemmActivation, activation>()).
template <class Call>
void with_activation(GemmActivation activation, Call call) {
  switch (activation) {
    case GemmActivation::kNone:
      return call(std::integral_constant<GemmActivation, GemmActivation::kNone>());
    case GemmActivation::kRelu:
      return call(std::integral_constant<GemmActivation, GemmActivation::kRelu>());
    case GemmActivation::kGelu:
      return call(std::integral_constant<GemmActivation, GemmActivation::kGelu>());
    case GemmActivation::kSilu:
      return call(std::integral_constant<GemmActivation, GemmActivation::kSilu>());
    case GemmActivation::kGeluTanh:
      return call(std::integral_constant<GemmActivation, GemmActivation::kGeluTanh>());
  }
  throw std::invalid_argument("activate: activation is " + std::to_string(static_cast<int>(activation)) +
                              ", needs one of GemmActivation");
}

/// A distribution function F and its density at a number.
struct Distribution {
  float function;
  float density;
};

EDGEWISE_DEVICE float function_from_tail(float x, float tail) { return x < 0 ? tail : 1 - tail; }

EDGEWISE_DEVICE Distribution normal_distribution(float x) {
  // The tail is exp(-x^2 / 2) t p(t) with t = 1 / (1 + 0.3 |x|); activation_cpu.cc has the source of p.
  const float magnitude = x < 0 ? -x : x;
  const float t = reciprocal_approximate(fused_multiply_add(magnitude, 0.3f, 1.0f));
  float p = fused_multiply_add(0x1.34005p-5f, t, -0x1.523154p-3f);
  p = fused_multiply_add(p, t, 0x1.c242d6p-3f);
  p = fused_multiply_add(p, t, -0x1.0e110ap-4f);
  p = fused_multiply_add(p, t, 0x1.145836p-3f);
  p = fused_multiply_add(p, t, 0x1.917e94p-4f);
  p = fused_multiply_add(p, t, 0x1.efd232p-4f);
  p = fused_multiply_add(p, t, 0x1.e9ecb6p-4f);
  const float exponential = exp_approximate(magnitude * magnitude * -0.5f);
  constexpr float kDensityAtZero = 0x1.988454p-2f;  // 1 / sqrt(2 pi)
  return {function_from_tail(x, p * t * exponential), exponential * kDensityAtZero};
}

EDGEWISE_DEVICE Distribution logistic_distribution(float x) {
  const float exponential = exp_approximate(x < 0 ? x : -x);
  const float complement = reciprocal_approximate(1 + exponential);
  const float tail = exponential * complement;
  return {function_from_tail(x, tail), tail * complement};
}

/// Returns the logistic distribution at u(x) = sqrt(8 / pi) (x + 0.044715 x^3), and its derivative in x. Beyond 12, the
/// tail is 0.
EDGEWISE_DEVICE Distribution tanh_distribution(float x) {
  constexpr float kFactor = 0x1.988454p+0f;  // sqrt(8 / pi)
  constexpr float kCubic = 0.044715f;
  const float bounded = x < -12 ? -12 : x > 12 ? 12 : x;
  const float square = bounded * bounded;
  const Distribution logistic = logistic_distribution(bounded * fused_multiply_add(square, kFactor * kCubic, kFactor));
  return {logistic.function, logistic.density * fused_multiply_add(square, 3 * kFactor * kCubic, kFactor)};
}

template <GemmActivation kActivation>
EDGEWISE_DEVICE Distribution distribution(float x) {
  if constexpr (kActivation == GemmActivation::kGelu) {
    return normal_distribution(x);
  } else if constexpr (kActivation == GemmActivation::kGeluTanh) {
    return tanh_distribution(x);
  } else {
    return logistic_distribution(x);
  }
}

template <GemmActivation kActivation>
EDGEWISE_DEVICE float activate(float x) {
  if constexpr (kActivation == GemmActivation::kNone) {
    return x;
  } else if constexpr (kActivation == GemmActivation::kRelu) {
    return x < 0 ? 0.0f : x;
  } else {
    return x * distribution<kActivation>(x).function;
  }
}

/// Returns the derivative of x F(x).
template <GemmActivation kActivation>
EDGEWISE_DEVICE float activation_derivative(float x) {
  const Distribution at = distribution<kActivation>(x);
  return fused_multiply_add(x, at.density, at.function);
}

/// Applies the dropout of a flat array to the values of `columns` of a row, whose first one is value `begin` of the
/// array.
template <class Columns>
EDGEWISE_DEVICE void apply_dropout(const DeviceDropoutFactors& dropout, std::int64_t begin, const Columns& columns,
                                   float (&value)[Columns::kSize]) {
  if constexpr (Columns::kSize == 1) {
    value[0] *= dropout.one(begin + columns.first);
  } else {
    EDGEWISE_UNROLL
    for (int i = 0; i < Columns::kSize; i += kChunk) {
      const Floats4 factors = dropout.aligned_chunk(begin + columns.at(i));
      EDGEWISE_UNROLL
      for (int j = 0; j < kChunk; ++j) value[i + j] *= factors.at[j];
    }
  }
}

/// A block computes kValuesOfBlock consecutive values.
template <typename X, typename T, GemmActivation kActivation>
struct ActivationPass {
  static constexpr const char* kName = "activation";
  static constexpr int kThreads = 256;
  static constexpr int kQuads = 2;  // groups of four values that a thread loads at a time
  static constexpr int kValuesOfBlock = 2 * 4 * kQuads * kThreads;
  struct Shared {};

  const X* x;
  T* out;
  std::int64_t count;
  DeviceDropoutFactors dropout;

  EDGEWISE_DEVICE void operator()() const {
    const std::int64_t begin = std::int64_t{block_index()} * kValuesOfBlock;
    const std::int64_t rest = count - begin;
    const RowColumns columns(begin, rest < kValuesOfBlock ? static_cast<int>(rest) : kValuesOfBlock);
    columns.visit<kThreads, kQuads>([&](auto part) {
      constexpr int kSize = decltype(part)::kSize;
      float value[kSize];
      load_columns(x + begin, part, value);
      EDGEWISE_UNROLL
      for (int i = 0; i < kSize; ++i) value[i] = activate<kActivation>(value[i]);
      if (!dropout.is_identity()) apply_dropout(dropout, begin, part, value);
      store_columns(value, part, out + begin);
    });
  }
};

// activation_gradient(): the first kernel writes the sums of each chunk of rows to the workspace, and the second one
// adds the sums of all chunks to the gradient of the bias.

inline constexpr int kGradientThreads = 256;
inline constexpr int kGradientWarps = kGradientThreads / kWarpSize;

/// Numbers that the warps of a block have summed for the same columns.
template <int kColumns>
struct WarpColumnSums {
  float of_warp[kGradientWarps][kColumns];

  /// Returns the sum of a column; a barrier is after the last write.
  EDGEWISE_DEVICE float sum(int column) const {
    float total = of_warp[0][column];
    EDGEWISE_UNROLL
    for (int warp = 1; warp < kGradientWarps; ++warp) total += of_warp[warp][column];
    return total;
  }
};

/// A block computes the gradients of a chunk of rows, in kColumns of the columns. Its warps take turns in the rows.
/// Columns is QuadColumns if a row is a multiple of 4 columns, else OneColumn.
template <typename T, GemmActivation kActivation, class Columns>
struct ActivationGradientChunk {
  static constexpr const char* kName = "activation_gradient";
  static constexpr int kThreads = kGradientThreads;
  static constexpr int kSize = Columns::kSize;
  static constexpr int kColumns = kWarpSize * kSize;
  static constexpr int kRowsAtOnce = 4;  // rows whose loads a thread begins together
  static constexpr bool kHasSaved = kActivation != GemmActivation::kNone;

  struct Shared {
    WarpColumnSums<kColumns> sums;
  };

  const T* grad_out;
  const T* saved;
  T* grad_x;
  float* chunk_sums;  // [chunks, O], or null
  std::int64_t rows;
  int columns;
  DeviceDropoutFactors dropout;

  int num_blocks() const { return static_cast<int>(gradient_workspace_size(rows, num_panels())); }

  EDGEWISE_DEVICE void operator()() const {
    const int chunk = block_index() / num_panels();
    const int first_column = block_index() % num_panels() * kColumns;
    const Columns part = {first_column + lane_index() * kSize};
    float sum[kSize] = {};
    if (part.first < columns) {
      const std::int64_t first_row = std::int64_t{chunk} * kRowsOfGradientChunk;
      const std::int64_t end = first_row + kRowsOfGradientChunk < rows ? first_row + kRowsOfGradientChunk : rows;
      for (std::int64_t row = first_row + warp_index(); row < end; row += std::int64_t{kRowsAtOnce} * kGradientWarps) {
        add_rows(row, end, part, sum);
      }
    }
    if (chunk_sums != nullptr) write_sums(sum, chunk, first_column);
  }

 private:
  constexpr int num_panels() const { return (columns + kColumns - 1) / kColumns; }

  // Computes up to kRowsAtOnce rows, which are kGradientWarps apart, and adds their gradients to `sum`.
  EDGEWISE_DEVICE void add_rows(std::int64_t first_row, std::int64_t end, const Columns& part,
                                float (&sum)[kSize]) const {
    float gradient[kRowsAtOnce][kSize];
    float argument[kRowsAtOnce][kSize] = {};
    EDGEWISE_UNROLL
    for (int r = 0; r < kRowsAtOnce; ++r) {
      const std::int64_t row = first_row + std::int64_t{r} * kGradientWarps;
      if (row >= end) continue;
      load_columns(grad_out + row * columns, part, gradient[r]);
      if constexpr (kHasSaved) load_columns(saved + row * columns, part, argument[r]);
    }
    EDGEWISE_UNROLL
    for (int r = 0; r < kRowsAtOnce; ++r) {
      const std::int64_t row = first_row + std::int64_t{r} * kGradientWarps;
      if (row >= end) continue;
      const std::int64_t begin = row * columns;
      multiply_derivatives(begin, part, argument[r], gradient[r]);
      if (grad_x != nullptr) store_columns(gradient[r], part, grad_x + begin);
      EDGEWISE_UNROLL
      for (int i = 0; i < kSize; ++i) sum[i] += gradient[r][i];
    }
  }

  EDGEWISE_DEVICE void multiply_derivatives(std::int64_t begin, const Columns& part, const float (&argument)[kSize],
                                            float (&gradient)[kSize]) const {
    if constexpr (kActivation == GemmActivation::kRelu) {
      EDGEWISE_UNROLL
      for (int i = 0; i < kSize; ++i) gradient[i] *= argument[i] > 0 ? dropout.scale() : 0.0f;
      return;
    }
    if (!dropout.is_identity()) apply_dropout(dropout, begin, part, gradient);
    if constexpr (kActivation == GemmActivation::kGelu || kActivation == GemmActivation::kSilu ||
                  kActivation == GemmActivation::kGeluTanh) {
      EDGEWISE_UNROLL
      for (int i = 0; i < kSize; ++i) gradient[i] *= activation_derivative<kActivation>(argument[i]);
    }
  }

  EDGEWISE_DEVICE void write_sums(const float (&sum)[kSize], int chunk, int first_column) const {
    Shared& shared = shared_memory<Shared>();
    EDGEWISE_UNROLL
    for (int i = 0; i < kSize; ++i) shared.sums.of_warp[warp_index()][lane_index() * kSize + i] = sum[i];
    synchronize_block();
    const int column = first_column + thread_index();
    if (thread_index() >= kColumns || column >= columns) return;
    chunk_sums[std::int64_t{chunk} * columns + column] = shared.sums.sum(thread_index());
  }
};

/// Adds the sums of all chunks to the gradient of a bias. A block computes kWarpSize columns.
struct ChunkSums {
  static constexpr const char* kName = "chunk_sums";
  static constexpr int kThreads = kGradientThreads;
  static constexpr int kColumns = kWarpSize;

  struct Shared {
    WarpColumnSums<kColumns> sums;
  };

  const float* chunk_sums;  // [chunks, O]
  float* grad_bias;
  int num_chunks;
  int columns;

  int num_blocks() const { return (columns + kColumns - 1) / kColumns; }

  EDGEWISE_DEVICE void operator()() const {
    Shared& shared = shared_memory<Shared>();
    const int column = block_index() * kColumns + lane_index();
    float sum = 0;
    if (column < columns) {
      for (int chunk = warp_index(); chunk < num_chunks; chunk += kGradientWarps) {
        sum += chunk_sums[std::int64_t{chunk} * columns + column];
      }
    }
    shared.sums.of_warp[warp_index()][lane_index()] = sum;
    synchronize_block();
    if (warp_index() == 0 && column < columns) grad_bias[column] += shared.sums.sum(lane_index());
  }
};

template <GemmActivation kActivation, class Columns, typename T>
void launch_gradient(const ActivationGradient<T>& p, float* workspace, device::Stream stream) {
  const ActivationGradientChunk<T, kActivation, Columns> kernel = {
      .grad_out = p.grad_out,
      .saved = p.saved,
      .grad_x = p.grad_x,
      .chunk_sums = p.grad_bias == nullptr ? nullptr : workspace,
      .rows = p.rows,
      .columns = static_cast<int>(p.columns),
      .dropout = DeviceDropoutFactors(p.dropout)};
  launch(kernel, kernel.num_blocks(), stream);
}

template <typename T>
void launch_gradient(const ActivationGradient<T>& p, float* workspace, device::Stream stream) {
  with_activation(p.activation, [&](auto activation) {
    if (p.columns % 4 == 0) {
      launch_gradient<activation, QuadColumns<1, kGradientThreads>>(p, workspace, stream);
    } else {
      launch_gradient<activation, OneColumn>(p, workspace, stream);
    }
  });
}

}  // namespace gpu

template <typename X, typename T>
void activate(const ActivationForward<X, T>& p, device::Stream stream) {
  gpu::with_activation(p.activation, [&](auto activation) {
    using Kernel = gpu::ActivationPass<X, T, activation>;
    const std::int64_t num_blocks = (p.count + Kernel::kValuesOfBlock - 1) / Kernel::kValuesOfBlock;
    launch(Kernel{p.x, p.out, p.count, gpu::DeviceDropoutFactors(p.dropout)}, static_cast<int>(num_blocks), stream);
  });
}

template void activate(const ActivationForward<float>&, device::Stream);
template void activate(const ActivationForward<float, BFloat16>&, device::Stream);
template void activate(const ActivationForward<BFloat16>&, device::Stream);

template <typename T>
void activation_gradient(const ActivationGradient<T>& p, float* workspace, device::Stream stream) {
  gpu::launch_gradient(p, workspace, stream);
  if (p.grad_bias == nullptr) return;
  const gpu::ChunkSums sums = {.chunk_sums = workspace,
                               .grad_bias = p.grad_bias,
                               .num_chunks = static_cast<int>(gradient_workspace_size(p.rows, 1)),
                               .columns = static_cast<int>(p.columns)};
  launch(sums, sums.num_blocks(), stream);
}

template void activation_gradient(const ActivationGradient<float>&, float*, device::Stream);
template void activation_gradient(const ActivationGradient<BFloat16>&, float*, device::Stream);

}  // namespace edgewise::kernels
