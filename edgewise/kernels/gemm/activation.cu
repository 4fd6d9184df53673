// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "edgewise/base/bfloat16.h"
#include "edgewise/kernels/gemm/activation.h"
#include "edgewise/kernels/gemm/activation_functions_cuda.h"
#include "edgewise/kernels/gpu/columns.h"

namespace edgewise::kernels {
namespace gpu {

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

}  // namespace edgewise::kernels
