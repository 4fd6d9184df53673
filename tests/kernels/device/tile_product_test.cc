// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/device/tile_product.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/kernels/device/schedules.h"
#include "tests/kernels/near.h"
#include "tests/kernels/random_numbers.h"
#include "tests/support/device_buffer.h"

namespace edgewise::kernels::gpu {
namespace {

struct Sizes {
  int rows, columns, depth;
};

std::vector<float> run(const std::vector<BFloat16>& a, const std::vector<BFloat16>& b, Sizes sizes) {
  const device::Buffer<BFloat16> a_buffer(a);
  const device::Buffer<BFloat16> b_buffer(b);
  device::Buffer<float> out(static_cast<std::size_t>(sizes.rows * sizes.columns));
  tile_product({.a = a_buffer.data(),
                .b = b_buffer.data(),
                .out = out.data(),
                .rows = sizes.rows,
                .columns = sizes.columns,
                .depth = sizes.depth},
               device::Stream());
  return out.read();
}

std::vector<double> product(const std::vector<BFloat16>& a, const std::vector<BFloat16>& b, Sizes sizes) {
  std::vector<double> out;
  for (int row = 0; row < sizes.rows; ++row) {
    for (int column = 0; column < sizes.columns; ++column) {
      double sum = 0;
      for (int k = 0; k < sizes.depth; ++k) {
        sum += static_cast<double>(a[row * sizes.depth + k]) * b[column * sizes.depth + k];
      }
      out.push_back(sum);
    }
  }
  return out;
}

TEST(TileProduct, MatchesTheDefinitionInEverySchedule) {
  for (const Sizes sizes : {Sizes{1, 1, 8}, {3, 70, 40}, {65, 9, 104}}) {
    SCOPED_TRACE(testing::Message() << sizes.rows << " x " << sizes.columns << " x " << sizes.depth);
    const std::vector<BFloat16> a = normal_numbers<BFloat16>(sizes.rows * sizes.depth, 1);
    const std::vector<BFloat16> b = normal_numbers<BFloat16>(sizes.columns * sizes.depth, 2);
    const std::vector<double> expected = product(a, b, sizes);
    const std::vector<float> in_order = run(a, b, sizes);
    expect_near(in_order, expected, "out");

    for_each_schedule([&] { EXPECT_EQ(run(a, b, sizes), in_order); });
  }
}

}  // namespace
}  // namespace edgewise::kernels::gpu
