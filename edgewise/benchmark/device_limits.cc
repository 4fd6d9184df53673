// SPDX-License-Identifier: Apache-2.0
#include "edgewise/benchmark/device_limits.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mm.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <chrono>

#include "edgewise/benchmark/machine_limits.h"

namespace edgewise {
namespace {

// Returns the seconds of the fastest of five calls, on a device that is idle before each of them.
template <class Run>
double fastest_seconds(at::Device device, Run run) {
  run();
  double best = 0.0;
  for (int repetition = 0; repetition < 5; ++repetition) {
    synchronize(device);
    const auto begin = std::chrono::steady_clock::now();
    run();
    synchronize(device);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (repetition == 0 || seconds < best) best = seconds;
  }
  return best;
}

}  // namespace

void synchronize(at::Device device) {
  if (device.is_cpu()) return;
  const c10::impl::VirtualGuardImpl guard(device.type());
  guard.synchronizeDevice(device.has_index() ? device.index() : guard.getDevice().index());
}

double measure_gemm_peak(Precision precision, at::Device device) {
  if (device.is_cpu()) return measure_gemm_peak(precision);
  constexpr std::int64_t kSize = 8192;
  const at::ScalarType type = precision == Precision::kBf16 ? at::kBFloat16 : at::kFloat;
  const at::Tensor matrix = at::full({kSize, kSize}, 0.5, at::TensorOptions(device).dtype(type));
  at::Tensor product = at::empty_like(matrix);
  const double flops = 2.0 * kSize * kSize * kSize;
  return flops / fastest_seconds(device, [&] { at::mm_out(product, matrix, matrix); });
}

double measure_memory_bandwidth(at::Device device) {
  if (device.is_cpu()) return measure_memory_bandwidth();
  constexpr std::int64_t kBytes = std::int64_t{1} << 30;
  const at::Tensor from = at::full({kBytes}, 1, at::TensorOptions(device).dtype(at::kByte));
  at::Tensor to = at::empty_like(from);
  return 2.0 * kBytes / fastest_seconds(device, [&] { to.copy_(from); });
}

}  // namespace edgewise
