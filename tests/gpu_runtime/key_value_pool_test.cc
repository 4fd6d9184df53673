// SPDX-License-Identifier: Apache-2.0
#include "edgewise/gpu_runtime/key_value_pool.h"

#include <gtest/gtest.h>

#include <vector>

namespace edgewise {
namespace {

TEST(KeyValuePool, KeepsItsEntriesWhenItGrows) {
  constexpr std::int64_t kLayers = 2;
  constexpr std::int64_t kWidth = 8;
  const GpuStream stream;
  KeyValuePool<float> pool(kLayers, kWidth);
  pool.reserve(3, stream);
  const auto offset = [&](std::int64_t plane) {
    return plane % 2 == 0 ? pool.key_offset(plane / 2) : pool.value_offset(plane / 2);
  };
  for (std::int64_t plane = 0; plane < 2 * kLayers; ++plane) {
    const std::vector<float> row(kWidth, static_cast<float>(plane));
    kernels::device::copy_memory_to_device(pool.entry(2) + offset(plane), row.data(), kWidth * sizeof(float));
  }
  pool.reserve(4, stream);
  EXPECT_GE(pool.num_entries(), 4);
  for (std::int64_t plane = 0; plane < 2 * kLayers; ++plane) {
    std::vector<float> row(kWidth);
    kernels::device::copy_memory_to_host(row.data(), pool.entry(2) + offset(plane), kWidth * sizeof(float));
    EXPECT_EQ(row, std::vector<float>(kWidth, static_cast<float>(plane)));
  }
}

}  // namespace
}  // namespace edgewise
