// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/attention/scatter_rows.h"
#include "edgewise/kernels/gpu/chunks.h"

namespace edgewise::kernels {
namespace gpu {

template <typename T, bool kIsWide>
struct ScatterRowsKernel {
  static constexpr const char* kName = "scatter_rows";
  static constexpr int kChunks = 4;
  using Strips = RowStrips<kChunks>;
  static constexpr int kThreads = Strips::kThreads;
  struct Shared {};

  ScatterRows<T> p;

  EDGEWISE_DEVICE void operator()() const {
    const Strips strip(p.columns);
    if (strip.row >= p.rows) return;
    const float* const from = p.from + strip.row * p.stride;
    T* const to = p.to[strip.row] + p.offset;
    Floats4 values[kChunks];
    strip.template load<kIsWide>(from, p.columns, values);
    strip.template store<kIsWide>(values, to, p.columns);
  }
};

}  // namespace gpu

template <typename T>
void scatter_rows(const ScatterRows<T>& p, device::Stream stream) {
  gpu::with_width(p.columns | p.stride | p.offset, [&](auto is_wide) {
    using Kernel = gpu::ScatterRowsKernel<T, is_wide>;
    launch(Kernel{p}, Kernel::Strips::num_blocks(p.rows, p.columns), stream);
  });
}

template void scatter_rows(const ScatterRows<float>&, device::Stream);
template void scatter_rows(const ScatterRows<BFloat16>&, device::Stream);

}  // namespace edgewise::kernels
