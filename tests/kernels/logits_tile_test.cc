// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/loss/logits_tile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "edgewise/base/random.h"
#include "tests/kernels/implementations.h"

namespace edgewise::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Logits [R, V] and penalties [V].
struct TileProblem {
  std::int64_t rows, vocabulary;
  std::vector<float> logits, penalty;

  /// Draws logits from `num_values` values, so that many are equal.
  TileProblem(std::int64_t num_rows, std::int64_t size, std::uint64_t num_values, bool has_penalty)
      : rows(num_rows), vocabulary(size) {
    RandomStream random(/*seed=*/8);
    for (std::int64_t n = 0; has_penalty && n < size; ++n) {
      penalty.push_back(random.next_below(3) == 0 ? kInfinity : 0.0f);
    }
    for (std::int64_t i = 0; i < rows * size; ++i) {
      logits.push_back(static_cast<float>(random.next_below(num_values)) * 0.0625f);
    }
  }

  /// Returns columns [begin, end) of all rows, without gaps.
  std::vector<float> tile(std::int64_t begin, std::int64_t end) const {
    std::vector<float> part;
    for (std::int64_t row = 0; row < rows; ++row) {
      part.insert(part.end(), logits.begin() + row * vocabulary + begin, logits.begin() + row * vocabulary + end);
    }
    return part;
  }
};

/// The accumulators of all rows, without pointers. Tokens and logits after the last one are unchanged.
struct TileResult {
  std::vector<float> base;
  std::vector<double> sum;
  std::vector<std::int64_t> count;
  std::vector<float> top_logits;         // [R, kMaxTopTokens]
  std::vector<std::int32_t> top_tokens;  // [R, kMaxTopTokens]

  double log_sum(std::size_t row) const { return base[row] + std::log(sum[row]); }
  friend bool operator==(const TileResult&, const TileResult&) = default;
};

/// Passes the tiles, in Memory, to reduce(tile). Row r has capacities[r % capacities.size()].
template <template <typename> class Memory, class Reduce>
TileResult reduce_tiles(const TileProblem& problem, std::int64_t tile_size, const std::vector<std::int64_t>& capacities,
                        Reduce&& reduce) {
  const auto num_rows = static_cast<std::size_t>(problem.rows);
  Memory<float> top_logits(std::vector<float>(num_rows * kMaxTopTokens, -1.0f));
  Memory<std::int32_t> top_tokens(std::vector<std::int32_t>(num_rows * kMaxTopTokens, -1));
  std::vector<LogSumExpTopK> rows(num_rows);
  for (std::size_t row = 0; row < num_rows; ++row) {
    rows[row].capacity = capacities[row % capacities.size()];
    rows[row].top_logits = top_logits.data() + row * kMaxTopTokens;
    rows[row].top_tokens = top_tokens.data() + row * kMaxTopTokens;
  }
  Memory<LogSumExpTopK> accumulators(rows);
  const Memory<float> penalty(problem.penalty);
  for (std::int64_t begin = 0; begin < problem.vocabulary; begin += tile_size) {
    const std::int64_t end = std::min(problem.vocabulary, begin + tile_size);
    const Memory<float> logits(problem.tile(begin, end));
    reduce(LogitsTile{.rows = problem.rows,
                      .columns = end - begin,
                      .first_token = begin,
                      .logits = logits.data(),
                      .penalty = problem.penalty.empty() ? nullptr : penalty.data() + begin,
                      .accumulators = accumulators.data()});
  }
  TileResult result;
  for (const LogSumExpTopK& row : accumulators.read()) {
    result.base.push_back(row.base);
    result.sum.push_back(row.sum);
    result.count.push_back(row.count);
  }
  result.top_logits = top_logits.read();
  result.top_tokens = top_tokens.read();
  return result;
}

TileResult reduce(const TileProblem& problem, std::int64_t tile_size, const std::vector<std::int64_t>& capacities) {
  return reduce_tiles<Array>(problem, tile_size, capacities, [](const LogitsTile& tile) {
    call_kernel([&](auto... stream) { reduce_logits_tile(tile, stream...); });
  });
}

// The error of the sums: a relative one of 1e-6 on GPUs and of 1e-5 on the CPU.
constexpr double kLogSumError = kTestsGpu ? 2e-6 : 1e-5;

void expect_like_reference(const TileProblem& problem, std::int64_t tile_size,
                           const std::vector<std::int64_t>& capacities) {
  const TileResult actual = reduce(problem, tile_size, capacities);
  const TileResult expected = reduce_tiles<HostBuffer>(
      problem, tile_size, capacities, [](const LogitsTile& tile) { reference::reduce_logits_tile(tile); });
  EXPECT_EQ(actual.count, expected.count);
  EXPECT_EQ(actual.top_logits, expected.top_logits);
  EXPECT_EQ(actual.top_tokens, expected.top_tokens);
  for (std::size_t row = 0; row < expected.base.size(); ++row) {
    EXPECT_NEAR(actual.log_sum(row), expected.log_sum(row), kLogSumError);
  }
}

TEST(LogitsTile, HasTheTopTokensAndTheLogSumExpOfTheReferenceForAnyTileSize) {
  for_implementations([] {
    for (const std::int64_t vocabulary : {1, 5, 16, 33, 100, 700, 4999}) {
      for (const bool has_penalty : {false, true}) {
        for (const std::int64_t tile_size : {7, 16, 64, 1001, 5000}) {
          if (vocabulary > 64 * tile_size) continue;  // the emulator would take long
          SCOPED_TRACE("vocabulary " + std::to_string(vocabulary) + ", tiles of " + std::to_string(tile_size));
          const TileProblem problem(4, vocabulary, 400, has_penalty);
          expect_like_reference(problem, tile_size, {0, 1, 5, kMaxTopTokens});
        }
      }
    }
  });
}

TEST(LogitsTile, SelectsAmongThousandsOfEqualLogits) {
  for_implementations([] {
    for (const std::uint64_t num_values : {1, 3}) {
      for (const std::int64_t tile_size : {1500, 4000}) {
        SCOPED_TRACE(std::to_string(num_values) + " values, tiles of " + std::to_string(tile_size));
        expect_like_reference(TileProblem(1, 4000, num_values, /*has_penalty=*/true), tile_size, {7});
      }
    }
  });
}

TEST(LogitsTile, SelectsAmongTheFewTokensWithoutPenalty) {
  for_implementations([] {
    TileProblem problem(2, 3000, 400, /*has_penalty=*/true);
    for (std::size_t n = 0; n < problem.penalty.size(); ++n) problem.penalty[n] = n % 1024 == 3 ? 0 : kInfinity;
    expect_like_reference(problem, 3000, {2, 10});
  });
}

TEST(LogitsTile, GivesTheSameBitsInEverySchedule) {
  const TileProblem distinct(1, 5001, 1000, /*has_penalty=*/true);
  const TileProblem equal(1, 700, 1, /*has_penalty=*/false);
  const TileResult expected = reduce(distinct, 2600, {12});
  const TileResult expected_equal = reduce(equal, 700, {3});
  for_schedules([&] {
    EXPECT_TRUE(reduce(distinct, 2600, {12}) == expected);
    EXPECT_TRUE(reduce(equal, 700, {3}) == expected_equal);
  });
}

TEST(LogitsTile, IgnoresLogitsOfMinusInfinity) {
  TileProblem problem(1, 40, 400, /*has_penalty=*/false);
  std::fill_n(problem.logits.begin(), 37, -kInfinity);
  std::copy_n(std::vector<float>{2, 3, 1}.begin(), 3, problem.logits.begin() + 37);
  for_implementations([&] {
    for (const std::int64_t tile_size : {10, 40}) {
      const TileResult result = reduce(problem, tile_size, {5});
      EXPECT_EQ(result.count, std::vector<std::int64_t>{3});
      EXPECT_EQ(std::vector(result.top_tokens.begin(), result.top_tokens.begin() + 4),
                (std::vector<std::int32_t>{38, 37, 39, -1}));
      EXPECT_NEAR(result.log_sum(0), 3 + std::log(1 + std::exp(-1) + std::exp(-2)), kLogSumError);
    }
  });
}

TEST(LogitsTile, RaisesTheBaseForALogitFarAboveEarlierLogits) {
  TileProblem problem(1, 200, 400, /*has_penalty=*/false);
  std::ranges::fill(problem.logits, -60.0f);
  problem.logits[150] = 60;
  problem.logits[199] = 59;
  for_implementations(
      [&] { EXPECT_NEAR(reduce(problem, 100, {0}).log_sum(0), 60 + std::log(1 + std::exp(-1.0)), kLogSumError); });
}

TEST(LogitsTile, SumsLargeLogitsAsPreciselyAsSmallOnes) {
  for_implementations([] {
    for (const float shift : {0.0f, 1e4f, -1e4f, 1e6f, -1e6f}) {
      TileProblem problem(1, 200, 400, /*has_penalty=*/false);
      double sum = 0;
      for (std::size_t i = 0; i < 200; ++i) {
        problem.logits[i] = shift + 0.0625f * static_cast<float>(i % 64);
        sum += std::exp(double{problem.logits[i]} - shift);
      }
      const TileResult result = reduce(problem, 70, {0});
      EXPECT_NEAR(result.base[0] - double{shift} + std::log(result.sum[0]), std::log(sum), kTestsGpu ? 2e-6 : 1e-4)
          << shift;
    }
  });
}

TEST(LogitsTile, CopiesTheLogitsOfARowIfLogitsOutIsNotNull) {
  for_implementations([] {
    const TileProblem problem(2, 37, 400, /*has_penalty=*/true);
    const Array<float> logits(problem.logits);
    Array<float> copy(38);
    std::vector<LogSumExpTopK> rows(2);
    rows[1].logits_out = copy.data();
    Array<LogSumExpTopK> accumulators(rows);

    const LogitsTile tile = {
        .rows = 2, .columns = 37, .first_token = 0, .logits = logits.data(), .accumulators = accumulators.data()};
    call_kernel([&](auto... stream) { reduce_logits_tile(tile, stream...); });

    std::vector<float> copied = copy.read();
    EXPECT_TRUE(std::isnan(copied.back()));
    copied.pop_back();
    EXPECT_EQ(copied, std::vector<float>(problem.logits.begin() + 37, problem.logits.end()));
  });
}

}  // namespace
}  // namespace edgewise::kernels
