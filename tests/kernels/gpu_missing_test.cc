// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "edgewise/device/launch_graph.h"
#include "edgewise/device/memory.h"
#include "edgewise/kernels/attention/interval_attention.h"
#include "edgewise/kernels/dropout/dropout.h"
#include "edgewise/kernels/gemm/linear_product.h"
#include "tests/support/error_of.h"

namespace edgewise::kernels {
namespace {

/// Returns the error of a function that this build lacks.
std::string without(const char* what, const char* function) {
  return fmt::format("{}: this build has no {}, needs a program with CUDA; build it with make all CUDA=1", function,
                     what);
}

std::string without_kernels(const char* function) { return without("kernels for GPUs", function); }

TEST(WithoutCuda, AKernelForGpusIsAnErrorWithItsName) {
  float value = 1;
  EXPECT_EQ(error_of([&] { dropout(Dropout(), 1, &value, &value, device::Stream()); }), without_kernels("dropout"));
  EXPECT_EQ(error_of([] { can_attend_intervals<BFloat16>(64, 64); }), without_kernels("can_attend_intervals"));
  EXPECT_EQ(error_of([] { GpuProducts(device::Stream()); }), without_kernels("GpuProducts"));
}

TEST(WithoutCuda, MemoryOfAGpuIsAnErrorWithTheNameOfTheFunction) {
  EXPECT_EQ(device::platform(), device::Platform::kNone);
  EXPECT_EQ(error_of([] { device::allocate_memory(1, device::Stream()); }), without("GPUs", "allocate_memory"));
  EXPECT_EQ(error_of([] { device::LaunchGraph::record(device::Stream(), [] {}); }), without("GPUs", "LaunchGraph"));
}

}  // namespace
}  // namespace edgewise::kernels
