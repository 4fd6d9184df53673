// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/gemm/linear_product.h"

#include "tests/emulator/recording.h"

namespace edgewise::kernels {

namespace {

template <typename T>
void multiply_rows(const LinearProduct<T>& p) {
  for (std::int64_t row = 0; row < p.rows; ++row) {
    const T* x = p.x + row * p.inputs;
    for (std::int64_t output = 0; output < p.outputs; ++output) {
      const T* weight = p.weight + output * p.inputs;
      float sum = 0;
      for (std::int64_t i = 0; i < p.inputs; ++i) sum += static_cast<float>(x[i]) * static_cast<float>(weight[i]);
      if (p.bias != nullptr) sum += p.bias[output];
      float& out = p.out[row * p.outputs + output];
      out = p.is_added ? out + sum : sum;
    }
  }
}

}  // namespace

class GpuProducts::Library {};

GpuProducts::GpuProducts(device::Stream /*stream*/) {}
GpuProducts::~GpuProducts() = default;

template <typename T>
void GpuProducts::multiply(const LinearProduct<T>& p) {
  gpu::emulator::run_or_record([p] { multiply_rows(p); });
}

template void GpuProducts::multiply(const LinearProduct<float>&);
template void GpuProducts::multiply(const LinearProduct<BFloat16>&);

}  // namespace edgewise::kernels
