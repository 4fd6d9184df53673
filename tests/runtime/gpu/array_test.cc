// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/gpu/array.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace edgewise {
namespace {

template <typename T>
std::vector<T> read(const GpuArray<T>& array, std::int64_t count, const GpuStream& stream) {
  HostArray<T> host;
  begin_copy_to_host(array.data(), count, host, stream);
  device::wait_for(stream);
  return {host.data(), host.data() + count};
}

TEST(GpuArrays, HaveMemoryAgainAfterARequestForTooMuch) {
  constexpr std::int64_t kTooMany = std::int64_t{1} << 40;
  const GpuStream stream;
  GpuArray<float> array;
  StagedCopy copy;
  const std::vector<float> values = {1, 2, 3};

  EXPECT_ANY_THROW(array.allocate(kTooMany, stream));
  EXPECT_EQ(array.data(), nullptr);
  copy.begin(std::span<const float>(values), array, stream);
  EXPECT_EQ(read(array, 3, stream), values);

  HostArray<float> host;
  EXPECT_ANY_THROW(host.allocate(kTooMany, stream));
  EXPECT_NE(host.allocate(3, stream), nullptr);
}

TEST(StagedCopies, CopyArraysOfSeveralParts) {
  const GpuStream stream;
  GpuArray<std::int32_t> array;
  StagedCopy copy;
  for (const std::size_t size : {5, 2'100'000, 1 << 20}) {
    std::vector<std::int32_t> values(size);
    std::iota(values.begin(), values.end(), 7);
    copy.begin(std::span<const std::int32_t>(values), array, stream);
    EXPECT_EQ(read(array, std::ssize(values), stream), values);
  }
}

}  // namespace
}  // namespace edgewise
