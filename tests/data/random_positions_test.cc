// SPDX-License-Identifier: Apache-2.0
#include "edgewise/data/random_positions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <vector>

namespace edgewise {
namespace {

using testing::ElementsAre;

/// Makes a batch of pairs with the given numbers of tokens and draws its positions.
Batch batch_with_random_positions(const std::vector<PairLengths>& lengths, const BatchOptions& options,
                                  std::uint64_t seed) {
  std::vector<TokenPair> pairs;
  for (const PairLengths& pair : lengths) {
    pairs.push_back({std::vector<std::int64_t>(static_cast<std::size_t>(pair.input), 4),
                     std::vector<std::int64_t>(static_cast<std::size_t>(pair.output) + 1, 5)});
  }
  Batch batch = make_batch(pairs);
  RandomStream random(seed);
  draw_positions(batch, options, random);
  return batch;
}

BatchOptions options_with(TrainingPositions positions, std::int64_t below) {
  BatchOptions options;
  options.positions = positions;
  options.positions_below = below;
  return options;
}

TEST(RandomPositions, IncreaseBelowTheBoundAndAreEqualOnBothSides) {
  EXPECT_TRUE(rc::check([] {
    const auto positions = *rc::gen::element(TrainingPositions::kShifted, TrainingPositions::kSpread);
    const auto length = rc::gen::inRange<std::int64_t>(1, 20);
    std::vector<PairLengths> lengths;
    for (int i = 0; i < 4; ++i) lengths.push_back({.input = *length, .output = *length});
    const std::int64_t below = *rc::gen::inRange<std::int64_t>(19, 60);

    const Batch batch =
        batch_with_random_positions(lengths, options_with(positions, below), *rc::gen::arbitrary<std::uint64_t>());

    std::span<const std::int64_t> inputs = batch.input_positions;
    std::span<const std::int64_t> outputs = batch.output_positions;
    for (const PairLengths& pair : lengths) {
      const auto input = inputs.first(static_cast<std::size_t>(pair.input));
      const auto output = outputs.first(static_cast<std::size_t>(pair.output));
      const auto longer = pair.input > pair.output ? input : output;
      RC_ASSERT(std::ranges::adjacent_find(longer, std::greater_equal<>()) == longer.end());
      RC_ASSERT(longer.front() >= 0 && longer.back() < below);
      RC_ASSERT(std::ranges::equal(longer.first(std::min(input.size(), output.size())),
                                   (pair.input > pair.output ? output : input)));
      inputs = inputs.subspan(input.size());
      outputs = outputs.subspan(output.size());
    }
  }));
}

TEST(RandomPositions, AreConsecutiveWhenShifted) {
  const Batch batch =
      batch_with_random_positions({{.input = 5, .output = 3}}, options_with(TrainingPositions::kShifted, 100), 1);
  const std::int64_t first = batch.input_positions[0];

  EXPECT_THAT(batch.input_positions, ElementsAre(first, first + 1, first + 2, first + 3, first + 4));
}

/// Counts how often each list of positions is drawn for a pair of two tokens and one.
std::map<std::vector<std::int64_t>, int> count_draws(TrainingPositions positions, int draws) {
  std::map<std::vector<std::int64_t>, int> count;
  for (int seed = 0; seed < draws; ++seed) {
    ++count[batch_with_random_positions({{.input = 2, .output = 1}}, options_with(positions, 4), seed).input_positions];
  }
  return count;
}

// The bounds are five standard deviations of a count.
TEST(RandomPositions, HaveEachShiftWithEqualProbability) {
  const auto count = count_draws(TrainingPositions::kShifted, 6000);

  ASSERT_EQ(count.size(), 3);
  for (const auto& [positions, times] : count) EXPECT_NEAR(times, 2000, 183);
}

TEST(RandomPositions, AreSpreadOverARangeOfRandomSizeAndPosition) {
  const auto count = count_draws(TrainingPositions::kSpread, 6000);

  // Ranges of 2, 3 and 4 have probability 1/3 each: {0, 3} needs the range of 4, {0, 2} a range of 4 or of 3.
  ASSERT_EQ(count.size(), 6);
  EXPECT_NEAR(count.at({0, 3}), 6000 / 18.0, 90);
  EXPECT_NEAR(count.at({0, 2}), 6000 * (1 / 18.0 + 1 / 18.0), 122);
  EXPECT_NEAR(count.at({0, 1}), 6000 * (1 / 18.0 + 1 / 18.0 + 1 / 9.0), 161);
}

TEST(RandomPositions, CountFromZeroForCountedPositionsAndForLongPairs) {
  const std::vector<PairLengths> pairs = {{.input = 3, .output = 2}};

  EXPECT_THAT(batch_with_random_positions(pairs, {}, 1).input_positions, ElementsAre(0, 1, 2));
  EXPECT_THAT(batch_with_random_positions(pairs, options_with(TrainingPositions::kSpread, 2), 1).input_positions,
              ElementsAre(0, 1, 2));
  EXPECT_THAT(batch_with_random_positions(pairs, options_with(TrainingPositions::kShifted, 3), 1).input_positions,
              ElementsAre(0, 1, 2));
}

}  // namespace
}  // namespace edgewise
