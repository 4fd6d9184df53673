// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/dropout/dropout.h"
#include "edgewise/kernels/dropout/dropout_factors_cuda.h"

namespace edgewise::kernels {
namespace gpu {

template <typename From, typename To, bool kIsWide>
struct DropoutKernel {
  static constexpr const char* kName = "dropout";
  static constexpr int kThreads = 256;
  static constexpr int kChunks = 4;
  using Chunks = FlatChunks<kThreads, kChunks>;
  struct Shared {};

  DeviceDropoutFactors factors;
  std::int64_t count;
  const From* in;
  To* out;

  EDGEWISE_DEVICE void operator()() const {
    Floats4 values[kChunks];
    EDGEWISE_UNROLL
    for (int c = 0; c < kChunks; ++c) values[c] = load_chunk<kIsWide>(in + Chunks::first(c), count - Chunks::first(c));
    EDGEWISE_UNROLL
    for (int c = 0; c < kChunks; ++c) {
      const std::int64_t first = Chunks::first(c);
      if (first >= count) return;
      store_chunk<kIsWide>(multiply(values[c], factors.chunk(first)), out + first, count - first);
    }
  }
};

}  // namespace gpu

template <typename From, typename To>
void dropout(const Dropout& dropout, std::int64_t count, const From* in, To* out, device::Stream stream) {
  gpu::with_width(count, [&](auto is_wide) {
    using Kernel = gpu::DropoutKernel<From, To, is_wide>;
    launch(Kernel{gpu::DeviceDropoutFactors(dropout), count, in, out}, Kernel::Chunks::num_blocks(count), stream);
  });
}

template void dropout(const Dropout&, std::int64_t, const float*, float*, device::Stream);
template void dropout(const Dropout&, std::int64_t, const float*, BFloat16*, device::Stream);
template void dropout(const Dropout&, std::int64_t, const BFloat16*, float*, device::Stream);
template void dropout(const Dropout&, std::int64_t, const BFloat16*, BFloat16*, device::Stream);

}  // namespace edgewise::kernels
