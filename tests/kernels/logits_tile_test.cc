// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/loss/logits_tile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "edgewise/base/random.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "tests/kernels/not_written.h"

namespace edgewise::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Logits [R, V], many of them equal.
struct Problem {
  std::int64_t rows, vocabulary;
  std::vector<float> penalty, logits;

  Problem(std::int64_t num_rows, std::int64_t size, bool has_penalty) : rows(num_rows), vocabulary(size) {
    RandomStream random(/*seed=*/8);
    for (std::int64_t n = 0; has_penalty && n < size; ++n)
      penalty.push_back(random.next_below(3) == 0 ? kInfinity : 0.0f);
    for (std::int64_t i = 0; i < rows * size; ++i)
      logits.push_back(static_cast<float>(random.next_below(400)) * 0.0625f);
  }

  /// Returns columns [begin, end) of all rows, without gaps.
  std::vector<float> tile(std::int64_t begin, std::int64_t end) const {
    std::vector<float> part;
    for (std::int64_t row = 0; row < rows; ++row) {
      part.insert(part.end(), logits.begin() + row * vocabulary + begin, logits.begin() + row * vocabulary + end);
    }
    return part;
  }

  void reduce(std::int64_t begin, std::int64_t end, std::vector<LogSumExpTopK>& accumulators) const {
    const std::vector<float> values = tile(begin, end);
    LogitsTile p = {.rows = rows,
                    .columns = end - begin,
                    .first_token = begin,
                    .logits = values.data(),
                    .accumulators = accumulators.data()};
    if (!penalty.empty()) p.penalty = penalty.data() + begin;
    reduce_logits_tile(p);
  }
};

void expect_top(const Problem& problem, std::int64_t row, const LogSumExpTopK& state) {
  std::vector<std::int32_t> order;
  for (std::int32_t token = 0; token < problem.vocabulary; ++token) {
    if (problem.penalty.empty() || problem.penalty[token] == 0) order.push_back(token);
  }
  const float* logits = problem.logits.data() + row * problem.vocabulary;
  std::ranges::stable_sort(order, std::greater(), [&](std::int32_t token) { return logits[token]; });
  ASSERT_EQ(state.count, std::min<std::int64_t>(state.capacity, std::ssize(order)));
  for (std::int64_t i = 0; i < state.count; ++i) {
    ASSERT_EQ(state.top_tokens[i], order[i]) << "candidate " << i << " of row " << row;
    ASSERT_EQ(state.top_logits[i], logits[order[i]]);
  }
}

void expect_log_sum(const Problem& problem, std::int64_t row, const LogSumExpTopK& state) {
  double total = 0;
  for (std::int64_t n = 0; n < problem.vocabulary; ++n) {
    total += std::exp(double{problem.logits[row * problem.vocabulary + n]});
  }
  ASSERT_NEAR(state.base + std::log(state.sum), std::log(total), 1e-5);
}

TEST(LogitsTile, ReducesToTheSameTopTokensAndLogSumExpForAnyTileSize) {
  constexpr std::int64_t kRows = 3;
  for (const InstructionSet set : runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    for (const std::int64_t vocabulary : {1, 5, 16, 33, 100, 700}) {
      for (const bool has_penalty : {false, true}) {
        for (const std::int64_t tile_size : {7, 16, 64, 1000}) {
          SCOPED_TRACE(std::string(instruction_set_name(set)) + ", vocabulary " + std::to_string(vocabulary) +
                       ", tiles of " + std::to_string(tile_size));
          const Problem problem(kRows, vocabulary, has_penalty);
          auto best = not_written(kRows * 8);
          std::vector<std::int32_t> tokens(kRows * 8);
          std::vector<LogSumExpTopK> state(kRows);
          for (std::int64_t row = 0; row < kRows; ++row) {
            state[row].capacity = 4 * row;  // 0, 4 and 8 tokens
            state[row].top_logits = best.data() + row * 8;
            state[row].top_tokens = tokens.data() + row * 8;
          }
          for (std::int64_t begin = 0; begin < vocabulary; begin += tile_size) {
            problem.reduce(begin, std::min(vocabulary, begin + tile_size), state);
          }
          for (std::int64_t row = 0; row < kRows; ++row) {
            expect_top(problem, row, state[row]);
            expect_log_sum(problem, row, state[row]);
          }
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(LogitsTile, RaisesTheBaseForALogitFarAboveEarlierLogits) {
  for (const InstructionSet set : runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    std::vector<float> values(200, -60.0f);
    values[150] = 60;
    values[199] = 59;
    std::vector<LogSumExpTopK> state(1);
    reduce_logits_tile(
        {.rows = 1, .columns = 100, .first_token = 0, .logits = values.data(), .accumulators = &state[0]});
    reduce_logits_tile(
        {.rows = 1, .columns = 100, .first_token = 100, .logits = &values[100], .accumulators = &state[0]});
    EXPECT_NEAR(state[0].base + std::log(state[0].sum), 60 + std::log(1 + std::exp(-1.0)), 1e-5);
  }
}

TEST(LogitsTile, SumsLargeLogitsAsPreciselyAsSmallOnes) {
  for (const InstructionSet set : runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    for (const float shift : {0.0f, 1e4f, -1e4f, 1e6f, -1e6f}) {
      std::vector<float> values(200);
      double sum = 0;
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = shift + 0.0625f * static_cast<float>(i % 64);
        sum += std::exp(double{values[i]} - shift);
      }
      std::vector<LogSumExpTopK> state(1);
      reduce_logits_tile(
          {.rows = 1, .columns = 200, .first_token = 0, .logits = values.data(), .accumulators = &state[0]});
      EXPECT_NEAR(state[0].base - double{shift} + std::log(state[0].sum), std::log(sum), 1e-4)
          << instruction_set_name(set) << " " << shift;
    }
  }
}

TEST(LogitsTile, CopiesTheLogitsOfARowIfLogitsOutIsNotNull) {
  for (const InstructionSet set : runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    const Problem problem(2, 37, /*has_penalty=*/true);
    auto logits = not_written(37);
    std::vector<LogSumExpTopK> state(2);
    state[1].logits_out = logits.data();
    problem.reduce(0, 37, state);
    EXPECT_EQ(logits, std::vector<float>(problem.logits.begin() + 37, problem.logits.end()));
  }
}

}  // namespace
}  // namespace edgewise::kernels
