// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/device/conformance/primitives.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "edgewise/kernels/dropout/dropout.h"
#include "tests/kernels/device/conformance/conformance.h"
#include "tests/kernels/device/schedules.h"
#include "tests/kernels/device/test_kernel.h"

namespace edgewise::kernels::gpu::conformance {
namespace {

std::uint32_t half(std::uint32_t word, int i) { return word >> 16 * i & 0xFFFF; }
float bf16(std::uint32_t word, int i) { return std::bit_cast<float>(half(word, i) << 16); }

/// Runs a primitive in each schedule, and calls expect(words) with the words of the last one.
template <class P, class Expect>
void check_primitive(P primitive, Expect&& expect) {
  const Words words = run_primitive(primitive);
  for_each_schedule([&] { EXPECT_EQ(run_primitive(primitive).out, words.out); });
  expect(words);
}

TEST(Primitives, ThreadsAndBlocksAreNumbered) {
  std::vector<int> threads(3 * 64, -1);
  std::vector<int> lanes(3 * 64, -1);
  int* const thread_of = threads.data();
  int* const lane_of = lanes.data();
  run(
      [=](TestShared&) {
        const int at = block_index() * 64 + thread_index();
        thread_of[at] = thread_index() + 1000 * num_blocks();
        lane_of[at] = warp_index() * 100 + lane_index();
      },
      3);
  for (int i = 0; i < 3 * 64; ++i) {
    EXPECT_EQ(threads[i], i % 64 + 3000);
    EXPECT_EQ(lanes[i], i % 64 / 32 * 100 + i % 32);
  }
}

TEST(Primitives, BlocksOfAGridHaveAnIndexAndARow) {
  std::vector<int> numbers(3 * 4, -1);
  int* const number_of = numbers.data();
  for_each_schedule([&] {
    run(
        [=](TestShared&) {
          if (thread_index() == 0)
            number_of[block_index_y() * 3 + block_index()] = block_index_y() * 100 + block_index();
        },
        Grid(3, 4));
    for (int i = 0; i < 3 * 4; ++i) EXPECT_EQ(numbers[i], i / 3 * 100 + i % 3);
  });
}

TEST(Primitives, ShuffleReturnsTheValueOfTheSource) {
  check_primitive(ShuffleAll(), [](const Words& words) {
    for (int i = 0; i < kThreads; ++i) EXPECT_EQ(words.out[i], words.in[i / 32 * 32 + (i % 32 * 5 + 3) % 32]);
  });
}

TEST(Primitives, ShuffleXorWorksWithinASetOfLanes) {
  check_primitive(ShuffleHalves(), [](const Words& words) {
    for (int i = 0; i < kThreads; ++i) EXPECT_EQ(words.out[i], words.in[i % 32 < 16 ? i ^ 5 : i ^ 10]);
  });
}

TEST(Primitives, BallotReturnsTheLanesThatAreTrue) {
  check_primitive(Ballot(), [](const Words& words) {
    for (int i = 0; i < kThreads; ++i) {
      std::uint32_t expected = 0;
      for (int lane = 0; lane < 32; ++lane) expected |= (words.in[i / 32 * 32 + lane] & 1) << lane;
      EXPECT_EQ(words.out[i], expected);
    }
  });
}

TEST(Primitives, ReduceLanesCombinesGroupsOfLanes) {
  check_primitive(ReduceLanes(), [](const Words& words) {
    auto value = [&](int i) { return std::bit_cast<float>(words.in[i]); };
    for (int i = 0; i < kThreads; ++i) {
      double sum = 0;
      for (int lane = 0; lane < 32; ++lane) sum += value(i / 32 * 32 + lane);
      float maximum = -std::numeric_limits<float>::infinity();
      for (int lane = 0; lane < 4; ++lane) maximum = std::max(maximum, value(i / 4 * 4 + lane));
      float minimum = std::numeric_limits<float>::infinity();
      for (int lane = 0; lane < 8; ++lane) minimum = std::min(minimum, value(i / 8 * 8 + lane));
      EXPECT_NEAR(std::bit_cast<float>(words.out[3 * i]), sum, 1e-5);
      EXPECT_EQ(std::bit_cast<float>(words.out[3 * i + 1]), maximum);
      EXPECT_EQ(std::bit_cast<float>(words.out[3 * i + 2]), minimum);
    }
  });
}

TEST(Primitives, ReduceBlockCombinesAllThreads) {
  check_primitive(ReduceBlock(), [](const Words& words) {
    double sum = 0;
    float maximum = -std::numeric_limits<float>::infinity();
    for (const std::uint32_t word : words.in) {
      sum += std::bit_cast<float>(word);
      maximum = std::max(maximum, std::bit_cast<float>(word));
    }
    for (int i = 0; i < kThreads; ++i) {
      EXPECT_NEAR(std::bit_cast<float>(words.out[2 * i]), sum, 1e-5);
      EXPECT_EQ(std::bit_cast<float>(words.out[2 * i + 1]), maximum);
    }
  });
}

TEST(Primitives, BarriersShowTheWritesOfOtherThreads) {
  check_primitive(Barriers(), [](const Words& words) {
    for (int i = 0; i < kThreads; ++i) {
      EXPECT_EQ(words.out[2 * i], words.in[(i + 32) % 64]);
      EXPECT_EQ(words.out[2 * i + 1], words.in[(i + 32) % 64 ^ 1] + 1);
    }
  });
}

template <int kBytes>
void check_copies() {
  check_primitive(Copies<kBytes>(), [](const Words& words) {
    constexpr int kWords = kBytes / 4;
    for (int i = 0; i < kThreads; ++i) {
      const int next = (i + 1) % kThreads;
      for (int w = 0; w < kWords; ++w) {
        EXPECT_EQ(words.out[2 * i * kWords + w], i % 3 == 0 ? 0 : words.in[2 * i * kWords + w]);
        EXPECT_EQ(words.out[(2 * i + 1) * kWords + w], (next + 1) % 3 == 0 ? 0 : words.in[(2 * next + 1) * kWords + w]);
      }
    }
  });
}

TEST(Primitives, CopiesWriteTheBytesOrZeros) {
  check_copies<4>();
  check_copies<8>();
  check_copies<16>();
}

// Number `column` of row `row` of matrix `matrix` of a warp.
std::uint32_t matrix_element(const Words& words, int warp, int matrix, int row, int column) {
  return half(words.in[(warp * 32 + matrix * 8 + row) * 4 + column / 2], column % 2);
}

template <int kMatrices>
void check_load_matrices() {
  for (const bool is_transposed : {false, true}) {
    auto expect = [&](const Words& words) {
      for (int i = 0; i < kThreads; ++i) {
        const int lane = i % 32;
        for (int matrix = 0; matrix < kMatrices; ++matrix) {
          for (int h = 0; h < 2; ++h) {
            const int outer = lane / 4;
            const int inner = lane % 4 * 2 + h;
            EXPECT_EQ(half(words.out[i * kMatrices + matrix], h),
                      is_transposed ? matrix_element(words, i / 32, matrix, inner, outer)
                                    : matrix_element(words, i / 32, matrix, outer, inner));
          }
        }
      }
    };
    if (is_transposed) {
      check_primitive(LoadMatrices<kMatrices, true>(), expect);
    } else {
      check_primitive(LoadMatrices<kMatrices, false>(), expect);
    }
  }
}

TEST(Primitives, LoadMatricesDistributesRowsOrColumns) {
  check_load_matrices<4>();
  check_load_matrices<2>();
}

// The element of `sum` that thread `i` has as its word `word`, by the layout of multiply_tiles().
double tile_element(const Words& words, int i, int word) {
  constexpr int kWords = 10;
  const int row = i % 32 / 4 + word / 2 * 8;
  const int column = i % 4 * 2 + word % 2;
  auto in = [&](int lane, int at) { return words.in[(i / 32 * 32 + lane) * kWords + at]; };
  double sum = std::bit_cast<float>(in(i % 32, 6 + word));
  for (int k = 0; k < 16; ++k) {
    const float a = bf16(in(row % 8 * 4 + k % 8 / 2, row / 8 + k / 8 * 2), k % 2);
    const float b = bf16(in(column * 4 + k % 8 / 2, 4 + k / 8), k % 2);
    sum += static_cast<double>(a) * b;
  }
  return sum;
}

TEST(Primitives, MultiplyTilesAddsTheProductOfTwoMatrices) {
  check_primitive(MultiplyTiles<Inputs::kIntegerTiles, kExact>(), [](const Words& words) {
    for (int i = 0; i < kThreads * 4; ++i)
      EXPECT_EQ(std::bit_cast<float>(words.out[i]), tile_element(words, i / 4, i % 4));
  });
  check_primitive(MultiplyTiles<Inputs::kPositiveTiles, 64>(), [](const Words& words) {
    for (int i = 0; i < kThreads * 4; ++i) {
      const double expected = tile_element(words, i / 4, i % 4);
      EXPECT_NEAR(std::bit_cast<float>(words.out[i]), expected, 1e-6 * expected);
    }
  });
}

TEST(Primitives, PackBf16RoundsLikeTheHost) {
  check_primitive(PackBf16(), [](const Words& words) {
    for (int i = 0; i < kThreads; ++i) {
      for (int h = 0; h < 2; ++h) {
        const BFloat16 expected(std::bit_cast<float>(words.in[2 * i + h]));
        EXPECT_EQ(half(words.out[3 * i], h), std::bit_cast<std::uint16_t>(expected));
        EXPECT_EQ(std::bit_cast<float>(words.out[3 * i + 1 + h]), static_cast<float>(expected));
      }
    }
  });
  run([](TestShared&) { EXPECT_EQ(pack_bf16(std::nanf("1"), 1.0f), 0x3F807FFFu); });
}

TEST(Primitives, ArithmeticRoundsEachOperationOnce) {
  check_primitive(Arithmetic(), [](const Words& words) {
    for (int i = 12; i < kThreads; ++i) {  // after the special numbers
      auto in = [&](int w) { return std::bit_cast<float>(words.in[3 * i + w]); };
      auto out = [&](int w) { return std::bit_cast<float>(words.out[5 * i + w]); };
      const auto product = static_cast<float>(static_cast<double>(in(0)) * in(1));
      EXPECT_EQ(out(1), product);
      EXPECT_EQ(out(3), static_cast<float>(static_cast<double>(product) + in(2)));
      EXPECT_EQ(out(4), std::fma(in(0), in(1), in(2)));
    }
  });
}

TEST(Primitives, ApproximationsHaveTheirLimits) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  check_primitive(Exp2(), [](const Words& words) {
    for (int i = 12; i < kThreads; ++i) {
      const double expected = std::exp2(static_cast<double>(std::bit_cast<float>(words.in[i])));
      EXPECT_NEAR(std::bit_cast<float>(words.out[i]), expected, expected * 0x1p-22);
    }
  });
  run([=](TestShared&) {
    EXPECT_EQ(exp2_approximate(-kInfinity), 0.0f);
    EXPECT_EQ(exp2_approximate(-127.0f), 0.0f);
    EXPECT_EQ(exp2_approximate(1000.0f), kInfinity);
    EXPECT_EQ(log2_approximate(0.0f), -kInfinity);
    EXPECT_EQ(log2_approximate(8.0f), 3.0f);
    EXPECT_EQ(reciprocal_approximate(8.0f), 0.125f);
    EXPECT_EQ(reciprocal_approximate(kInfinity), 0.0f);
    EXPECT_EQ(reciprocal_approximate(0x1p-127f), kInfinity);
    EXPECT_EQ(reciprocal_approximate(0x1p127f), 0.0f);
  });
}

TEST(Primitives, CountBitsCountsTheBitsOfAWord) {
  check_primitive(CountBits(), [](const Words& words) {
    for (int i = 0; i < kThreads; ++i) {
      std::uint32_t low = 0;
      std::uint32_t high = 0;
      for (int bit = 0; bit < 32; ++bit) {
        low += words.in[2 * i] >> bit & 1;
        high += words.in[2 * i + 1] >> bit & 1;
      }
      EXPECT_EQ(words.out[2 * i], low);
      EXPECT_EQ(words.out[2 * i + 1], low + high);
    }
  });
}

TEST(Primitives, AtomicAddCountsEveryThreadOfEveryBlock) {
  for_each_schedule([] {
    std::uint32_t count = 0;
    std::uint32_t* const at = &count;
    run([=](TestShared&) { atomic_add(at, 3); }, 5);
    EXPECT_EQ(count, 5u * 64 * 3);
  });
}

TEST(Primitives, KernelsDrawTheRandomNumbersOfTheHost) {
  check_primitive(HostFunctions(), [](const Words& words) {
    for (int i = 0; i < kThreads; ++i) {
      const std::uint32_t* in = &words.in[6 * i];
      auto wide = [&](int w) { return in[w] | std::uint64_t{in[w + 1]} << 32; };
      const auto block = philox(wide(0), wide(2), wide(4));
      EXPECT_TRUE(std::equal(block.begin(), block.end(), &words.out[6 * i]));
    }
  });
  static_assert(philox(0, 0, 0)[0] == 0x6627e8d5);
  static_assert(static_cast<float>(BFloat16(1.00390625f)) == 1.0f);
  static_assert(std::is_trivially_copyable_v<DropoutRule<float>>);
}

TEST(Conformance, PrintsALineForEachPrimitive) {
  const std::string text = describe_conformance();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 23);
  EXPECT_NE(text.find("\nballot\t0\t"), std::string::npos);
}

}  // namespace
}  // namespace edgewise::kernels::gpu::conformance
