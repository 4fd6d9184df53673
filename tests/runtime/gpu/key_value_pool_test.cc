// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "edgewise/runtime/gpu/kv_cache.h"

namespace edgewise {
namespace {

TEST(KeyValuePool, KeepsItsEntriesWhenItGrows) {
  constexpr std::int64_t kLayers = 2;
  constexpr std::int64_t kWidth = 8;
  const GpuStream stream;
  KeyValuePool<float> pool(kLayers, kWidth);
  pool.reserve(3, stream);
  HostArray<float> row;
  const auto offset = [&](std::int64_t plane) {
    return plane % 2 == 0 ? pool.key_offset(plane / 2) : pool.value_offset(plane / 2);
  };
  for (std::int64_t plane = 0; plane < 2 * kLayers; ++plane) {
    std::fill_n(row.allocate(kWidth, stream), kWidth, static_cast<float>(plane));
    device::begin_copy(pool.entry(2) + offset(plane), row.data(), kWidth * sizeof(float), stream);
    device::wait_for(stream);
  }
  pool.reserve(4, stream);
  EXPECT_GE(pool.num_entries(), 4);
  for (std::int64_t plane = 0; plane < 2 * kLayers; ++plane) {
    begin_copy_to_host(pool.entry(2) + offset(plane), kWidth, row, stream);
    device::wait_for(stream);
    EXPECT_EQ(std::vector<float>(row.data(), row.data() + kWidth),
              std::vector<float>(kWidth, static_cast<float>(plane)));
  }
}

}  // namespace
}  // namespace edgewise
