// SPDX-License-Identifier: Apache-2.0
#include "edgewise/benchmark/device_limits.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mm.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <vector>

#include "edgewise/base/bfloat16.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/gemm/gemm.h"

namespace edgewise {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::duration<double> kTimePerProduct(0.3);

struct Sizes {
  std::int64_t rows, depth, columns;
  double flops() const { return 2.0 * static_cast<double>(rows * depth * columns); }
};

// A square product, and two products of the shapes of a large model's layers.
constexpr std::array kSizes = {Sizes{2048, 2048, 2048}, Sizes{4096, 512, 2048}, Sizes{4096, 1024, 1024}};

template <typename T>
std::vector<T> matrix(std::int64_t rows, std::int64_t columns) {
  return std::vector<T>(static_cast<std::size_t>(rows * columns), T(0.5F));
}

template <typename T>
double flops_per_second(const Sizes& sizes) {
  const std::vector<T> left = matrix<T>(sizes.rows, sizes.depth);
  const std::vector<float> right = matrix<float>(sizes.depth, sizes.columns);
  std::vector<T> out = matrix<T>(sizes.rows, sizes.columns);
  kernels::PackedMatrix<T> packed;
  packed.pack({.data = right.data(), .stride = sizes.columns}, sizes.depth, sizes.columns);
  const kernels::Gemm<T, T> product = {.rows = sizes.rows,
                                       .columns = sizes.columns,
                                       .depth = sizes.depth,
                                       .a = {.data = left.data(), .stride = sizes.depth},
                                       .packed_b = &packed,
                                       .out = out.data(),
                                       .out_stride = sizes.columns};

  kernels::gemm(product);
  double best = 0.0;
  const Clock::time_point begin = Clock::now();
  for (Clock::time_point before = begin; before - begin < kTimePerProduct;) {
    kernels::gemm(product);
    const Clock::time_point after = Clock::now();
    best = std::max(best, sizes.flops() / std::chrono::duration<double>(after - before).count());
    before = after;
  }
  return best;
}

double gemm_peak_of_cpu(Precision precision) {
  double peak = 0.0;
  for (const Sizes& sizes : kSizes) {
    peak = std::max(peak,
                    precision == Precision::kBf16 ? flops_per_second<BFloat16>(sizes) : flops_per_second<float>(sizes));
  }
  return peak;
}

/// Returns the seconds of the fastest of five calls, on a device that is idle before each of them.
double fastest_seconds(at::Device device, auto run) {
  run();
  double best = 0.0;
  for (int repetition = 0; repetition < 5; ++repetition) {
    synchronize(device);
    const Clock::time_point begin = Clock::now();
    run();
    synchronize(device);
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (repetition == 0 || seconds < best) best = seconds;
  }
  return best;
}

double memory_bandwidth_of_cpu() {
  constexpr std::int64_t kFloats = std::int64_t{1} << 26;  // 256 MiB
  const std::vector<float> from(kFloats, 0.5F);
  std::vector<float> to(kFloats);
  const auto copy = [&](std::int64_t begin, std::int64_t end) {
    std::copy(from.begin() + begin, from.begin() + end, to.begin() + begin);
  };
  return 2.0 * sizeof(float) * kFloats / fastest_seconds(at::kCPU, [&] { parallel_for(kFloats, /*grain=*/1, copy); });
}

}  // namespace

void synchronize(at::Device device) {
  if (device.is_cpu()) return;
  const c10::impl::VirtualGuardImpl guard(device.type());
  guard.synchronizeDevice(device.has_index() ? device.index() : guard.getDevice().index());
}

double measure_gemm_peak(Precision precision, at::Device device) {
  if (device.is_cpu()) return gemm_peak_of_cpu(precision);
  constexpr std::int64_t kSize = 8192;
  const at::ScalarType type = precision == Precision::kBf16 ? at::kBFloat16 : at::kFloat;
  const at::Tensor matrix = at::full({kSize, kSize}, 0.5, at::TensorOptions(device).dtype(type));
  at::Tensor product = at::empty_like(matrix);
  const double flops = 2.0 * kSize * kSize * kSize;
  return flops / fastest_seconds(device, [&] { at::mm_out(product, matrix, matrix); });
}

double measure_memory_bandwidth(at::Device device) {
  if (device.is_cpu()) return memory_bandwidth_of_cpu();
  constexpr std::int64_t kBytes = std::int64_t{1} << 30;
  const at::Tensor from = at::full({kBytes}, 1, at::TensorOptions(device).dtype(at::kByte));
  at::Tensor to = at::empty_like(from);
  return 2.0 * kBytes / fastest_seconds(device, [&] { to.copy_(from); });
}

}  // namespace edgewise
