// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "edgewise/base/bfloat16.h"
#include "edgewise/kernels/dropout/dropout.h"
#include "edgewise/kernels/dropout/dropout_reference.h"
#include "tests/kernels/device/random_numbers.h"
#include "tests/kernels/device/schedules.h"
#include "tests/support/device_buffer.h"

namespace edgewise::kernels {
namespace {

constexpr std::int64_t kBlock = 4096;  // the numbers of a block of threads
// Around a chunk, a warp and a block.
constexpr std::int64_t kCounts[] = {0, 1, 3, 4, 5, 8, 127, 128, 131, kBlock - 4, kBlock, kBlock + 1, 2 * kBlock + 8};

template <typename From, typename To>
void expect_bits_of_reference(const Dropout& rule) {
  for (const std::int64_t count : kCounts) {
    const std::vector<From> in = normal_numbers<From>(count, 3);
    const device::Buffer<From> in_buffer(in);
    device::Buffer<To> out(in.size() + 1);
    std::vector<To> expected = out.read();
    reference::dropout(rule, count, in.data(), expected.data());

    dropout(rule, count, in_buffer.data(), out.data(), device::Stream());

    ASSERT_TRUE(has_same_bits(out.read(), expected)) << count << " values, rate " << rule.rate;
  }
}

TEST(DropoutOnGpu, GivesTheBitsOfTheReferenceAndWritesNothingElse) {
  for (const double rate : {0.0, 0.3}) {
    const Dropout rule = {rate, /*seed=*/0x123456789ABCDEF0, /*stream=*/0xFEDCBA9876543210};
    expect_bits_of_reference<float, float>(rule);
    expect_bits_of_reference<float, BFloat16>(rule);
    expect_bits_of_reference<BFloat16, float>(rule);
    expect_bits_of_reference<BFloat16, BFloat16>(rule);
  }
}

TEST(DropoutOnGpu, MayOverwriteItsInput) {
  const std::vector<float> in = normal_numbers<float>(1001, 1);
  device::Buffer<float> values(in);
  std::vector<float> expected(in.size());
  reference::dropout({0.4, 1, 2}, 1001, in.data(), expected.data());

  dropout({0.4, 1, 2}, 1001, values.data(), values.data(), device::Stream());

  EXPECT_EQ(values.read(), expected);
}

TEST(CastOnGpu, RoundsLikeTheTypeBFloat16) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> in = {0.0f,     -0.0f,  1.00390625f, 1.01171875f, -1.005f,    3.39e38f,
                                 -3.4e38f, 1e-40f, -1e-45f,     kInfinity,   -kInfinity, 65'535.0f};
  const device::Buffer<float> in_buffer(in);
  device::Buffer<BFloat16> out(in.size());

  cast(std::ssize(in), in_buffer.data(), out.data(), device::Stream());

  EXPECT_TRUE(has_same_bits(out.read(), std::vector<BFloat16>(in.begin(), in.end())));
}

}  // namespace
}  // namespace edgewise::kernels
