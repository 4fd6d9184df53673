// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/data/batch_shares.h"
#include "edgewise/data/pair_source.h"

namespace edgewise {
namespace {

using testing::ThrowsMessage;

std::vector<TokenPair> counted_pairs(std::int64_t count) {
  std::vector<TokenPair> pairs;
  for (std::int64_t i = 0; i < count; ++i) pairs.push_back({.input = {i}, .output = {1, 2}});
  return pairs;
}

std::vector<std::int64_t> numbers_of(const PairSource& source) {
  std::vector<std::int64_t> numbers;
  for (const Visit& visit : source.visits()) {
    for (const TokenPair& pair : source.read(visit, 1, 0)) numbers.push_back(pair.input.front());
  }
  return numbers;
}

double expected_pairs(const PairSource& source) {
  double pairs = 0.0;
  for (const Visit& visit : source.visits()) pairs += visit.pairs;
  return pairs;
}

TEST(SourceShare, HasEachPairInOneShareAndSharesOfAboutEqualSize) {
  EXPECT_TRUE(rc::check([] {
    const auto count = *rc::gen::inRange<std::int64_t>(1, 2000);
    const auto block_size = *rc::gen::inRange<std::int64_t>(1, 100);
    const auto shares = *rc::gen::inRange<std::int64_t>(1, 9);
    const auto source = std::make_shared<PairsInMemory>(counted_pairs(count), block_size);

    std::vector<std::int64_t> all;
    const double mean = static_cast<double>(count) / static_cast<double>(shares);
    for (std::int64_t i = 0; i < shares; ++i) {
      const SourceShare share(source, i, shares);
      const std::vector<std::int64_t> numbers = numbers_of(share);
      const auto blocks = static_cast<double>(share.visits().size());
      RC_ASSERT(std::abs(static_cast<double>(numbers.size()) - mean) <= std::max(blocks, mean / 8));
      RC_ASSERT(std::abs(expected_pairs(share) - mean) <= mean / 8);
      all.insert(all.end(), numbers.begin(), numbers.end());
    }
    std::ranges::sort(all);
    std::vector<std::int64_t> expected(static_cast<std::size_t>(count));
    std::iota(expected.begin(), expected.end(), 0);
    RC_ASSERT(all == expected);
  }));
}

TEST(SourceShare, ReadsOnlyItsOwnBlocksOfManyBlocks) {
  const auto source = std::make_shared<PairsInMemory>(counted_pairs(1000), /*block_size=*/5);
  const SourceShare share(source, 1, 4);
  EXPECT_EQ(share.visits().size(), 50U);
  for (const Visit& visit : share.visits()) {
    EXPECT_EQ(visit.block % 4, 1);
    EXPECT_EQ(visit.parts, 1);
  }
}

TEST(SourceShare, SharesItsSharesFurther) {
  const auto source = std::make_shared<PairsInMemory>(counted_pairs(50), /*block_size=*/7);
  std::vector<std::int64_t> halves;
  for (std::int64_t i = 0; i < 2; ++i) {
    const auto numbers = numbers_of(SourceShare(std::make_shared<SourceShare>(source, 1, 2), i, 2));
    halves.insert(halves.end(), numbers.begin(), numbers.end());
  }
  std::ranges::sort(halves);
  auto half = numbers_of(SourceShare(source, 1, 2));
  std::ranges::sort(half);
  EXPECT_EQ(halves, half);
}

TEST(SourceShare, RejectsNumbersThatAreNotThoseOfAShare) {
  const auto source = std::make_shared<PairsInMemory>(counted_pairs(5));
  EXPECT_THAT([&] { SourceShare(source, 2, 2); },
              ThrowsMessage<Error>("SourceShare: share is 2, needs a number from 0 to 1"));
}

TEST(BatchShares, GivesAVirtualRankTheSameBatchesInEveryProcess) {
  const auto source = std::make_shared<PairsInMemory>(counted_pairs(60), /*block_size=*/8);
  const BatchOptions options{.tokens = 0, .sentences = 4, .bucket = 2, .window = 40};
  BatchShares all(source, options, 3, {.total = 4, .first = 0, .count = 4});
  for (std::int64_t first = 0; first < 4; first += 2) {
    BatchShares half(source, options, 3, {.total = 4, .first = first, .count = 2});
    EXPECT_EQ(half.fingerprint(), all.fingerprint());
    for (int step = 0; step < 30; ++step) {
      for (std::size_t i = 0; i < 2; ++i) {
        BatchStream& stream = all.streams()[static_cast<std::size_t>(first) + i];
        EXPECT_EQ(half.streams()[i].next().input_tokens, stream.next().input_tokens);
        EXPECT_EQ(half.streams()[i].position(), stream.position());
      }
    }
    all = BatchShares(source, options, 3, {.total = 4, .first = 0, .count = 4});
  }
}

TEST(BatchShares, HasAFingerprintThatDependsOnTheNumberOfVirtualRanks) {
  const auto source = std::make_shared<PairsInMemory>(counted_pairs(60));
  const BatchOptions options{.tokens = 50};
  EXPECT_EQ(BatchShares(source, options, 3).fingerprint(), batches_fingerprint(*source, options, 3));
  EXPECT_NE(BatchShares(source, options, 3, {.total = 2}).fingerprint(), batches_fingerprint(*source, options, 3));
}

TEST(BatchShares, DividesTheWindowAmongTheVirtualRanks) {
  const auto source = std::make_shared<PairsInMemory>(counted_pairs(640), /*block_size=*/5);
  const BatchOptions options{.tokens = 0, .sentences = 1, .bucket = 1, .window = 80};
  BatchShares shares(source, options, 3, {.total = 2, .first = 1, .count = 1});
  BatchStream& stream = shares.streams().front();
  for (int i = 0; i < 40; ++i) stream.next();
  EXPECT_EQ(stream.position().window, 1);
}

TEST(BatchShares, RejectsMoreVirtualRanksThanPairs) {
  const auto source = std::make_shared<PairsInMemory>(counted_pairs(3));
  EXPECT_THAT(
      [&] { BatchShares(source, {}, 1, {.total = 4, .first = 3, .count = 1}); },
      ThrowsMessage<Error>("BatchShares: virtual_ranks is 4 and rank 3 has no training pair, needs at least one "
                           "for each rank; set a smaller train.virtual_ranks"));
}

}  // namespace
}  // namespace edgewise
