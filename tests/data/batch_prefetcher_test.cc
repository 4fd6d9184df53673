// SPDX-License-Identifier: Apache-2.0
#include "edgewise/data/batch_prefetcher.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <memory>

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

constexpr BatchOptions kOptions = {.tokens = 0, .sentences = 3, .bucket = 2};

/// Returns pairs with different input tokens.
std::vector<TokenPair> numbered_pairs(std::int64_t count) {
  std::vector<TokenPair> pairs;
  for (std::int64_t i = 0; i < count; ++i) pairs.push_back({{i, 5, 6}, {1, 2}});
  return pairs;
}

TEST(BatchPrefetcher, ReturnsTheBatchesOfTheStreamInOrder) {
  EXPECT_TRUE(rc::check([] {
    const auto pairs = numbered_pairs(*rc::gen::inRange(1, 20));
    BatchStream alone(pairs, kOptions, 7);
    BatchStream stream(pairs, kOptions, 7);
    BatchPrefetcher prefetcher(stream);
    for (int i = 0; i < *rc::gen::inRange(0, 30); ++i) {
      RC_ASSERT(prefetcher.position() == alone.position());
      RC_ASSERT(prefetcher.batches_per_epoch() == alone.batches_per_epoch());
      RC_ASSERT(prefetcher.next().input_tokens == alone.next().input_tokens);
    }
    RC_ASSERT(prefetcher.position() == alone.position());
  }));
}

TEST(BatchPrefetcher, ReturnsTheBatchesOfSeveralWindowsInOrder) {
  const auto source = std::make_shared<PairsInMemory>(numbered_pairs(40), /*block_size=*/4);
  const BatchOptions options = {.tokens = 0, .sentences = 3, .bucket = 0, .window = 12};
  BatchStream alone(source, options, 7);
  BatchStream stream(source, options, 7);
  BatchPrefetcher prefetcher(stream);
  while (alone.position().epoch < 2) {
    EXPECT_EQ(prefetcher.next().input_tokens, alone.next().input_tokens);
    EXPECT_EQ(prefetcher.position(), alone.position());
  }

  alone.seek({1, 0, 2, 0});
  prefetcher.seek({1, 0, 2, 0});
  EXPECT_EQ(prefetcher.next().input_tokens, alone.next().input_tokens);
}

TEST(BatchPrefetcher, ContinuesAtThePositionOfASeek) {
  BatchStream alone(numbered_pairs(20), kOptions, 7);
  BatchStream stream(numbered_pairs(20), kOptions, 7);
  BatchPrefetcher prefetcher(stream);
  prefetcher.next();

  alone.seek({3, 2});
  prefetcher.seek({3, 2});

  EXPECT_EQ(prefetcher.position(), (BatchPosition{3, 2}));
  EXPECT_EQ(prefetcher.next().input_tokens, alone.next().input_tokens);
  EXPECT_EQ(prefetcher.next().input_tokens, alone.next().input_tokens);
}

TEST(BatchPrefetcher, KeepsItsPositionWhenASeekFails) {
  BatchStream alone(numbered_pairs(20), kOptions, 7);
  BatchStream stream(numbered_pairs(20), kOptions, 7);
  BatchPrefetcher prefetcher(stream);
  prefetcher.next();
  alone.next();

  EXPECT_THROW(prefetcher.seek({0, 1000}), Error);

  EXPECT_EQ(prefetcher.position(), alone.position());
  EXPECT_EQ(prefetcher.next().input_tokens, alone.next().input_tokens);
}

}  // namespace
}  // namespace edgewise
