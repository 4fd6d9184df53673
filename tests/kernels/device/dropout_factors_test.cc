// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "edgewise/kernels/dropout/dropout_factors_cuda.h"
#include "edgewise/kernels/dropout/dropout_reference.h"

namespace edgewise::kernels {
namespace {

TEST(DeviceDropoutFactors, AreThoseOfTheReferenceForAnyFourValues) {
  const gpu::DeviceDropoutFactors factors({0.5, 1, 2});
  std::vector<float> expected(40, 1.0f);
  reference::dropout({0.5, 1, 2}, 40, expected.data(), expected.data());
  for (std::int64_t first = 0; first < 36; ++first) {
    const gpu::Floats4 chunk = factors.chunk(first);
    for (std::int64_t i = 0; i < 4; ++i) EXPECT_EQ(chunk.at[i], expected[first + i]) << first << " + " << i;
    EXPECT_EQ(factors.one(first), expected[first]) << first;
  }
}

}  // namespace
}  // namespace edgewise::kernels
