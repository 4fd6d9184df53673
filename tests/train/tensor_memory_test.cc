// SPDX-License-Identifier: Apache-2.0
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/exp.h>
#include <gtest/gtest.h>

#include <thread>

#include "edgewise/train/device.h"

namespace edgewise {
namespace {

constexpr std::int64_t kCount = 1000;
constexpr std::int64_t kBytes = kCount * static_cast<std::int64_t>(sizeof(float));

TEST(TensorMemory, CountsTensorsThatExistAtTheSameTime) {
  const at::Tensor before = at::empty({kCount});
  const TensorMemory memory(at::kCPU);
  EXPECT_EQ(memory.peak(), 0);
  {
    const at::Tensor first = at::empty({kCount});
    const at::Tensor second = at::empty({2 * kCount});
    EXPECT_EQ(memory.peak(), 3 * kBytes);
  }
  const at::Tensor third = at::empty({kCount});
  EXPECT_EQ(memory.peak(), 3 * kBytes);
  const at::Tensor fourth = at::empty({3 * kCount});
  EXPECT_EQ(memory.peak(), 4 * kBytes);
}

TEST(TensorMemory, CountsTheGradientsOfABackwardPass) {
  const at::Tensor x = at::empty({kCount}).fill_(1.0).requires_grad_();
  const at::Tensor y = at::exp(x);
  const TensorMemory memory(at::kCPU);
  y.backward(at::empty({kCount}).fill_(1.0));
  EXPECT_EQ(memory.peak(), 2 * kBytes);
}

TEST(TensorMemory, CountsTheTensorsOfOtherThreads) {
  const TensorMemory memory(at::kCPU);
  std::thread([] { const at::Tensor tensor = at::empty({kCount}); }).join();
  EXPECT_EQ(memory.peak(), kBytes);
}

TEST(TensorMemory, CountsOnlyDuringItsLife) {
  at::Tensor tensor;
  {
    const TensorMemory memory(at::kCPU);
    tensor = at::empty({kCount});
  }
  const TensorMemory later(at::kCPU);
  tensor = at::Tensor();
  EXPECT_EQ(later.peak(), 0);
  tensor = at::empty({kCount});
  EXPECT_EQ(later.peak(), kBytes);
}

}  // namespace
}  // namespace edgewise
