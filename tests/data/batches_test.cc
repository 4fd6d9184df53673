// SPDX-License-Identifier: Apache-2.0
#include "edgewise/data/batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <thread>

#include "edgewise/base/error.h"
#include "edgewise/base/random.h"

namespace edgewise {
namespace {

using testing::ThrowsMessage;

using Plan = std::vector<std::vector<std::int64_t>>;

TokenPair pair_of(std::size_t input_length, std::size_t output_length) {
  return {std::vector<std::int64_t>(input_length, 7), std::vector<std::int64_t>(output_length + 1, 8)};
}

std::vector<TokenPair> random_pairs(std::size_t count, std::uint64_t seed) {
  RandomStream random(seed);
  std::vector<TokenPair> pairs;
  for (std::size_t i = 0; i < count; ++i) {
    pairs.push_back(pair_of(1 + random.next_below(20), 1 + random.next_below(20)));
    pairs.back().input[0] = static_cast<std::int64_t>(i);  // identifies the pair
  }
  return pairs;
}

std::int64_t longer_side(const std::vector<TokenPair>& pairs, const std::vector<std::int64_t>& batch) {
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  for (const std::int64_t number : batch) {
    inputs += pairs[static_cast<std::size_t>(number)].input.size();
    outputs += pairs[static_cast<std::size_t>(number)].output.size() - 1;
  }
  return static_cast<std::int64_t>(std::max(inputs, outputs));
}

std::vector<std::int64_t> sorted_numbers(const Plan& plan) {
  std::vector<std::int64_t> numbers;
  for (const auto& batch : plan) numbers.insert(numbers.end(), batch.begin(), batch.end());
  std::ranges::sort(numbers);
  return numbers;
}

std::vector<std::int64_t> count_up_to(std::size_t count) {
  std::vector<std::int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

TEST(BatchStream, HasEachPairOncePerEpochAndRespectsItsLimits) {
  EXPECT_TRUE(rc::check([] {
    const auto pairs = random_pairs(*rc::gen::inRange<std::size_t>(1, 60), *rc::gen::arbitrary<std::uint64_t>());
    BatchOptions options;
    options.tokens = *rc::gen::inRange(1, 100);
    options.sentences = *rc::gen::inRange(0, 6);
    options.bucket = *rc::gen::inRange(0, 5);
    const BatchStream stream(pairs, options, *rc::gen::arbitrary<std::uint64_t>());

    const Plan plan = stream.plan(*rc::gen::inRange(0, 1000));

    RC_ASSERT(sorted_numbers(plan) == count_up_to(pairs.size()));
    for (const auto& batch : plan) {
      RC_ASSERT(!batch.empty());
      RC_ASSERT(batch.size() == 1 || longer_side(pairs, batch) <= options.tokens);
      RC_ASSERT(options.sentences == 0 || static_cast<std::int64_t>(batch.size()) <= options.sentences);
    }
  }));
}

TEST(BatchStream, PlansAFunctionOfSeedAndEpoch) {
  const auto pairs = random_pairs(200, 1);
  const BatchOptions options{.tokens = 50, .sentences = 0, .bucket = 4};
  const BatchStream stream(pairs, options, 3);

  EXPECT_EQ(stream.plan(5), BatchStream(pairs, options, 3).plan(5));
  EXPECT_NE(stream.plan(5), stream.plan(6));
  EXPECT_NE(stream.plan(5), BatchStream(pairs, options, 4).plan(5));
}

TEST(BatchStream, PlansWhileAnotherThreadTakesBatches) {
  const auto pairs = random_pairs(200, 1);
  for (const std::int64_t window : {0, 64}) {
    const BatchOptions options{.tokens = 50, .sentences = 0, .bucket = 4, .window = window};
    BatchStream stream(pairs, options, 3);
    const Plan expected = BatchStream(pairs, options, 3).plan(2);
    std::thread other([&stream] {
      for (int i = 0; i < 500; ++i) stream.next();
    });
    for (int i = 0; i < 50; ++i) EXPECT_EQ(stream.plan(2), expected);
    other.join();
  }
}

TEST(BatchStream, ContinuesFromAnyPositionWithTheSameBatches) {
  EXPECT_TRUE(rc::check([] {
    const auto pairs = random_pairs(30, 1);
    const BatchOptions options{
        .tokens = 60, .sentences = 0, .bucket = 2, .positions = TrainingPositions::kSpread, .positions_below = 100};
    BatchStream uninterrupted(pairs, options, 9);
    const int before = *rc::gen::inRange(0, 30);
    for (int i = 0; i < before; ++i) uninterrupted.next();

    BatchStream resumed(pairs, options, 9);
    resumed.seek(uninterrupted.position());

    for (int i = 0; i < 10; ++i) {
      RC_ASSERT(resumed.position() == uninterrupted.position());
      RC_ASSERT(resumed.batches_per_epoch() == uninterrupted.batches_per_epoch());
      const Batch batch = resumed.next();
      const Batch expected = uninterrupted.next();
      RC_ASSERT(batch.input_tokens == expected.input_tokens);
      RC_ASSERT(batch.output_positions == expected.output_positions);
    }
  }));
}

TEST(BatchStream, CountsBatchesAndEpochs) {
  BatchStream stream(random_pairs(20, 1), {.tokens = 0, .sentences = 6, .bucket = 0}, 1);
  ASSERT_EQ(stream.batches_per_epoch(), 4);

  for (int i = 0; i < 3; ++i) stream.next();
  EXPECT_EQ(stream.position(), (BatchPosition{0, 3}));
  stream.next();
  EXPECT_EQ(stream.position(), (BatchPosition{1, 0}));
  EXPECT_EQ(stream.batches_per_epoch(), 4);
}

TEST(BatchStream, ReturnsTheBatchesOfItsPlan) {
  const auto pairs = random_pairs(20, 1);
  BatchStream stream(pairs, {.tokens = 40, .sentences = 0, .bucket = 1}, 1);
  const Plan plan = stream.plan(0);

  for (const auto& numbers : plan) {
    std::vector<TokenPair> expected;
    for (const std::int64_t number : numbers) expected.push_back(pairs[static_cast<std::size_t>(number)]);
    const Batch batch = stream.next();
    EXPECT_EQ(batch.input_tokens, make_batch(expected).input_tokens);
    EXPECT_EQ(batch.output_lengths, make_batch(expected).output_lengths);
  }
}

TEST(BatchStream, PutsPairsOfSimilarLengthTogether) {
  const auto pairs = random_pairs(300, 1);
  const auto spread = [&pairs](std::int64_t bucket) {
    std::size_t sum = 0;
    for (const auto& batch : BatchStream(pairs, {.tokens = 0, .sentences = 10, .bucket = bucket}, 1).plan(0)) {
      std::size_t shortest = 100;
      std::size_t longest = 0;
      for (const std::int64_t number : batch) {
        shortest = std::min(shortest, pairs[static_cast<std::size_t>(number)].output.size());
        longest = std::max(longest, pairs[static_cast<std::size_t>(number)].output.size());
      }
      sum += longest - shortest;
    }
    return sum;
  };

  EXPECT_LE(spread(/*all=*/0), 19U);  // with all pairs sorted, the spreads add up to at most the spread of all lengths
  EXPECT_LT(spread(10), spread(1) / 2);
}

TEST(BatchStream, PutsAPairAboveTheLimitIntoABatchOfItsOwn) {
  const BatchStream stream({pair_of(2, 3), pair_of(500, 1), pair_of(3, 2)}, {.tokens = 10, .sentences = 0, .bucket = 0},
                           1);

  EXPECT_THAT(stream.plan(0), testing::UnorderedElementsAre(testing::ElementsAre(1), testing::SizeIs(2)));
}

TEST(BatchesFingerprint, DependsOnPairsOptionsAndSeed) {
  const auto hash = [](std::size_t pairs, const BatchOptions& options, std::uint64_t seed) {
    return batches_fingerprint(PairsInMemory(random_pairs(9, pairs)), options, seed);
  };
  const BatchOptions options{.tokens = 50, .sentences = 0, .bucket = 4};
  const std::uint64_t fingerprint = hash(1, options, 3);

  EXPECT_EQ(fingerprint, hash(1, options, 3));
  EXPECT_NE(fingerprint, hash(2, options, 3));
  EXPECT_NE(fingerprint, hash(1, {.tokens = 51, .sentences = 0, .bucket = 4}, 3));
  EXPECT_NE(fingerprint, hash(1, options, 4));
  EXPECT_NE(fingerprint, hash(1, {.tokens = 50, .sentences = 0, .bucket = 4, .window = 3}, 3));
  BatchOptions shifted = options;
  shifted.positions = TrainingPositions::kShifted;
  EXPECT_NE(fingerprint, hash(1, shifted, 3));
}

TEST(BatchStream, RejectsInvalidPairsAndOptions) {
  const auto making = [](std::vector<TokenPair> pairs, BatchOptions options) {
    return [pairs = std::move(pairs), options] { BatchStream(pairs, options, 1); };
  };

  EXPECT_THAT(making({}, {}), ThrowsMessage<Error>("BatchStream: pairs are empty, needs at least one"));
  EXPECT_THAT(making({pair_of(1, 1), pair_of(2, 0)}, {}),
              ThrowsMessage<Error>("BatchStream: pair 1 has 2 input and 1 output tokens, needs at least 1 and 2"));
  EXPECT_THAT(making({pair_of(2, 3)}, {.tokens = 0, .sentences = 0, .bucket = 0}),
              ThrowsMessage<Error>("BatchStream: options limit neither tokens nor sentences, needs a limit; set "
                                   "batch.tokens or batch.sentences"));
  EXPECT_THAT(making({pair_of(2, 3)}, {.tokens = 5, .sentences = -1, .bucket = 0}),
              ThrowsMessage<Error>("BatchStream: options have 5 tokens, -1 sentences, a bucket of 0 and a window of "
                                   "262144, needs none below 0"));
}

TEST(BatchStream, RejectsAPositionOutsideTheEpoch) {
  BatchStream stream({pair_of(2, 3)}, {}, 1);

  EXPECT_THAT([&] { stream.plan(-1); }, ThrowsMessage<Error>("BatchStream::plan: epoch is -1, needs 0 or more"));
  EXPECT_THAT(
      [&] {
        stream.seek({-1, 0});
      },
      ThrowsMessage<Error>("BatchStream::seek: position is batch 0 of epoch -1, needs none below 0"));
  EXPECT_THAT(
      [&] {
        stream.seek({2, 1});
      },
      ThrowsMessage<Error>("BatchStream::seek: position is batch 1 of epoch 2, needs one below 1, the batches "
                           "of that epoch"));
  EXPECT_EQ(stream.position(), (BatchPosition{0, 0}));
}

struct Epoch {
  std::vector<std::int64_t> numbers;  // first input token of each pair, in order of the batches
  std::vector<std::int64_t> windows;  // number of batches of each window
};

Epoch read_epoch(BatchStream& stream) {
  Epoch epoch;
  const BatchPosition begin = stream.position();
  while (stream.position().epoch == begin.epoch) {
    const auto window = static_cast<std::size_t>(stream.position().window);
    epoch.windows.resize(std::max(epoch.windows.size(), window + 1));
    ++epoch.windows[window];
    const Batch batch = stream.next();
    std::int64_t node = 0;
    for (const std::int64_t length : batch.input_lengths) {
      epoch.numbers.push_back(batch.input_tokens[static_cast<std::size_t>(node)]);
      node += length;
    }
  }
  return epoch;
}

std::shared_ptr<const PairSource> in_blocks(const std::vector<TokenPair>& pairs, std::int64_t block_size) {
  return std::make_shared<PairsInMemory>(pairs, block_size);
}

TEST(BatchStreamInWindows, HasEachPairOncePerEpoch) {
  EXPECT_TRUE(rc::check([] {
    const auto pairs = random_pairs(*rc::gen::inRange<std::size_t>(1, 80), 1);
    const std::int64_t block_size = *rc::gen::inRange(1, 9);
    BatchOptions options{.tokens = *rc::gen::inRange(1, 100), .sentences = 0, .bucket = 2};
    options.window = *rc::gen::inRange(1, 100);
    BatchStream stream(in_blocks(pairs, block_size), options, *rc::gen::arbitrary<std::uint64_t>());

    for (int i = 0; i < 3; ++i) {
      Epoch epoch = read_epoch(stream);
      std::ranges::sort(epoch.numbers);
      RC_ASSERT(epoch.numbers == count_up_to(pairs.size()));
    }
    RC_ASSERT(stream.position() == (BatchPosition{3, 0}));
  }));
}

TEST(BatchStreamInWindows, HasEachPairOncePerEpochForOneWindowAndForSeveral) {
  const auto pairs =
      random_pairs(4, 1);  // in blocks of 3 and 1: the order of the blocks decides whether there are two windows
  std::set<std::size_t> counts;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    BatchStream stream(in_blocks(pairs, 3), {.tokens = 0, .sentences = 1, .bucket = 2, .window = 2}, seed);
    for (int i = 0; i < 5; ++i) {
      Epoch epoch = read_epoch(stream);
      std::ranges::sort(epoch.numbers);
      EXPECT_EQ(epoch.numbers, count_up_to(4)) << "epoch " << i << " of seed " << seed;
      counts.insert(epoch.windows.size());
    }
  }
  EXPECT_EQ(counts, (std::set<std::size_t>{1, 2}));
}

TEST(BatchStreamInWindows, HoldsAtMostAWindowPlusABlock) {
  const auto pairs = random_pairs(1000, 1);
  for (const std::int64_t window : {1, 30, 99, 1000, 5000, 0}) {
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
      const auto windows = split_epoch(in_blocks(pairs, 10)->visits(), window, 7, epoch);
      for (const auto& visits : windows) {
        EXPECT_LE(visits.size(), window == 0 ? 100U : static_cast<std::size_t>(window / 10 + 1)) << window;
        EXPECT_TRUE(std::ranges::is_sorted(visits, {}, &Visit::block));
      }
      EXPECT_EQ(windows.size() == 1, window == 0 || window >= 1000);
    }
  }
}

TEST(BatchStreamInWindows, ContinuesFromAnyPositionWithTheSameBatches) {
  EXPECT_TRUE(rc::check([] {
    const auto source = in_blocks(random_pairs(60, 1), 4);
    const BatchOptions options{.tokens = 60, .sentences = 0, .bucket = 2, .window = 15};
    BatchStream uninterrupted(source, options, 9);
    const int before = *rc::gen::inRange(0, 60);
    for (int i = 0; i < before; ++i) uninterrupted.next();

    BatchStream resumed(source, options, 9);
    resumed.seek(uninterrupted.position());

    for (int i = 0; i < 20; ++i) {
      RC_ASSERT(resumed.position() == uninterrupted.position());
      RC_ASSERT(resumed.next().input_tokens == uninterrupted.next().input_tokens);
    }
  }));
}

TEST(BatchStreamInWindows, ShufflesBlocksInEachEpoch) {
  const auto source = in_blocks(random_pairs(200, 1), 10);
  const BatchOptions options{.tokens = 50, .sentences = 0, .bucket = 4, .window = 50};
  BatchStream stream(source, options, 3);
  BatchStream same(source, options, 3);

  const Epoch first = read_epoch(stream);
  const Epoch second = read_epoch(stream);

  EXPECT_EQ(first.windows.size(), 4U);
  EXPECT_EQ(read_epoch(same).numbers, first.numbers);
  EXPECT_NE(first.numbers, second.numbers);
  const auto blocks_of_first_window = [&source](std::int64_t epoch) {
    return split_epoch(source->visits(), 50, 3, epoch).front();
  };
  EXPECT_NE(blocks_of_first_window(0), blocks_of_first_window(1));
}

TEST(BatchStreamInWindows, EstimatesTheBatchesOfAnEpochFromOneWindow) {
  const BatchOptions options{.tokens = 0, .sentences = 5, .bucket = 1, .window = 50};
  const BatchStream stream(in_blocks(random_pairs(200, 1), 10), options, 3);

  EXPECT_EQ(stream.batches_per_epoch(), 40);
}

TEST(BatchesInOrder, KeepsTheOrderOfThePairs) {
  const auto pairs = random_pairs(50, 1);
  std::vector<std::int64_t> inputs;
  std::int64_t sentences = 0;
  for (const Batch& batch : batches_in_order(pairs, {.tokens = 60, .sentences = 0, .bucket = 7})) {
    inputs.insert(inputs.end(), batch.input_tokens.begin(), batch.input_tokens.end());
    sentences += batch.num_sentences();
    EXPECT_LE(static_cast<std::int64_t>(batch.output_tokens.size()), 60);
  }

  std::vector<std::int64_t> expected;
  for (const TokenPair& pair : pairs) expected.insert(expected.end(), pair.input.begin(), pair.input.end());
  EXPECT_EQ(inputs, expected);
  EXPECT_EQ(sentences, 50);
}

TEST(BatchesInOrder, HaveTheSizesOfTheirGraphs) {
  const auto pairs = random_pairs(50, 1);
  const BatchOptions options = {.tokens = 60, .sentences = 0, .bucket = 7};
  const std::vector<Batch> batches = batches_in_order(pairs, options);
  const std::vector<BatchTokens> sizes = sizes_in_order(pairs, options);
  ASSERT_EQ(sizes.size(), batches.size());
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const auto edges = [&](std::string_view relation) {
      return static_cast<double>(batches[i].graph.relation(relation).num_edges());
    };
    EXPECT_EQ(sizes[i].input, std::ssize(batches[i].input_tokens));
    EXPECT_EQ(sizes[i].output, std::ssize(batches[i].output_tokens));
    EXPECT_EQ(sizes[i].encoder_edges, edges(kEncoderEncoder));
    EXPECT_EQ(sizes[i].cross_edges, edges(kEncoderDecoder));
    EXPECT_EQ(sizes[i].decoder_edges, edges(kDecoderDecoder));
  }
}

TEST(BatchesInOrder, ReturnsNoBatchForNoPairs) { EXPECT_TRUE(batches_in_order({}, {}).empty()); }

}  // namespace
}  // namespace edgewise
