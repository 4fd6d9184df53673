// SPDX-License-Identifier: Apache-2.0
#include "edgewise/data/batches_ahead.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

constexpr BatchOptions kOptions = {.tokens = 0, .sentences = 3, .bucket = 2};

/// Pairs that can be told from each other.
std::vector<TokenPair> numbered_pairs(std::int64_t count) {
  std::vector<TokenPair> pairs;
  for (std::int64_t i = 0; i < count; ++i) pairs.push_back({{i, 5, 6}, {1, 2}});
  return pairs;
}

TEST(BatchesAhead, AreThoseOfTheStreamInItsOrder) {
  EXPECT_TRUE(rc::check([] {
    const auto pairs = numbered_pairs(*rc::gen::inRange(1, 20));
    BatchStream alone(pairs, kOptions, 7);
    BatchStream stream(pairs, kOptions, 7);
    BatchesAhead ahead(stream);
    for (int i = 0; i < *rc::gen::inRange(0, 30); ++i) {
      RC_ASSERT(ahead.position() == alone.position());
      RC_ASSERT(ahead.batches_per_epoch() == alone.batches_per_epoch());
      RC_ASSERT(ahead.next().input_tokens == alone.next().input_tokens);
    }
    RC_ASSERT(ahead.position() == alone.position());
  }));
}

TEST(BatchesAhead, GoOnFromWhereTheyAreSent) {
  BatchStream alone(numbered_pairs(20), kOptions, 7);
  BatchStream stream(numbered_pairs(20), kOptions, 7);
  BatchesAhead ahead(stream);
  ahead.next();

  alone.seek({3, 2});
  ahead.seek({3, 2});

  EXPECT_EQ(ahead.position(), (Position{3, 2}));
  EXPECT_EQ(ahead.next().input_tokens, alone.next().input_tokens);
  EXPECT_EQ(ahead.next().input_tokens, alone.next().input_tokens);
}

TEST(BatchesAhead, StayWhereTheyAreWhenSentToAPlaceThatIsNot) {
  BatchStream alone(numbered_pairs(20), kOptions, 7);
  BatchStream stream(numbered_pairs(20), kOptions, 7);
  BatchesAhead ahead(stream);
  ahead.next();
  alone.next();

  EXPECT_THROW(ahead.seek({0, 1000}), Error);

  EXPECT_EQ(ahead.position(), alone.position());
  EXPECT_EQ(ahead.next().input_tokens, alone.next().input_tokens);
}

}  // namespace
}  // namespace edgewise
