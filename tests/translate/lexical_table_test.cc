// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/lexical_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "edgewise/base/random.h"

namespace edgewise {
namespace {

using Probabilities = std::map<std::pair<std::int64_t, std::int64_t>, double>;  // by input and output token

/// Pairs in which output token 100 + i translates input token i; every third token has none, and order is random.
std::vector<LinkedSentences> pairs_of_a_dictionary(int count, std::int64_t size, std::uint64_t seed) {
  RandomStream random(seed);
  std::vector<LinkedSentences> pairs;
  for (int i = 0; i < count; ++i) {
    LinkedSentences& pair = pairs.emplace_back();
    for (std::uint64_t n = 1 + random.next_below(7); n > 0; --n) {
      const auto token = static_cast<std::int64_t>(random.next_below(size));
      pair.input.push_back(token);
      if (token % 3 == 0) continue;
      const auto place = static_cast<std::ptrdiff_t>(random.next_below(pair.output.size() + 1));
      pair.output.insert(pair.output.begin() + place, 100 + token);
    }
  }
  return pairs;
}

/// Model 1 over all pairs of tokens.
Probabilities model_1(const std::vector<LinkedSentences>& pairs, std::int64_t none, int iterations) {
  const auto inputs_of = [&](const LinkedSentences& pair) {
    Tokens inputs = pair.input;
    inputs.push_back(none);
    return inputs;
  };
  Probabilities counts, probabilities;
  for (const LinkedSentences& pair : pairs) {
    for (const std::int64_t output : pair.output) {
      for (const std::int64_t input : inputs_of(pair)) counts[{input, output}] = 1;
    }
  }
  const auto normalise = [&] {
    std::map<std::int64_t, double> sums;
    for (const auto& [tokens, count] : counts) sums[tokens.first] += count;
    for (const auto& [tokens, count] : counts) probabilities[tokens] = count / sums[tokens.first];
  };
  normalise();
  for (int i = 0; i < iterations; ++i) {
    for (auto& [tokens, count] : counts) count = 0;
    for (const LinkedSentences& pair : pairs) {
      for (const std::int64_t output : pair.output) {
        double sum = 0;
        for (const std::int64_t input : inputs_of(pair)) sum += probabilities[{input, output}];
        for (const std::int64_t input : inputs_of(pair)) {
          counts[{input, output}] += probabilities[{input, output}] / sum;
        }
      }
    }
    normalise();
  }
  return probabilities;
}

TEST(LexicalTable, HasTheProbabilitiesOfModel1) {
  constexpr std::int64_t kSize = 20;
  const std::vector<LinkedSentences> pairs = pairs_of_a_dictionary(60, kSize, /*seed=*/1);
  for (const int iterations : {1, 2, 6}) {
    Probabilities expected = model_1(pairs, kSize, iterations);
    const LexicalTable table = estimate_lexical_table(pairs, kSize, iterations);
    std::size_t count = 0;
    for (std::int64_t input = 0; input < kSize; ++input) {
      for (const LexicalEntry& entry : table.list(input)) {
        ++count;
        EXPECT_NEAR(entry.probability, expected.at({input, entry.output}), 1e-12) << input << " " << entry.output;
      }
    }
    EXPECT_EQ(count, table.entries.size());
    std::erase_if(expected, [](const auto& item) { return item.first.first == kSize; });
    EXPECT_EQ(count, expected.size());
  }
}

TEST(LexicalTable, FindsTheTranslationsOfADictionary) {
  constexpr std::int64_t kSize = 50;
  const LexicalTable table = estimate_lexical_table(pairs_of_a_dictionary(2000, kSize, /*seed=*/2), kSize, 8);
  for (std::int64_t input = 0; input < kSize; ++input) {
    if (input % 3 == 0) continue;
    const auto best = std::ranges::max_element(table.list(input), {}, &LexicalEntry::probability);
    EXPECT_EQ(best->output, 100 + input);
    EXPECT_GT(best->probability, 0.9);
  }
}

TEST(LexicalTable, CountsTheLinksOfAnAlignment) {
  const std::vector<LinkedSentences> pairs = {
      {{0, 2}, {7, 8}, {{0, 0}, {1, 0}, {1, 1}}}, {{2}, {8}, {{0, 0}}}, {{2, 1}, {9, 9}, {}}};
  const LexicalTable table = count_lexical_links(pairs, 3);
  ASSERT_EQ(table.offsets, (std::vector<std::size_t>{0, 1, 1, 3}));
  EXPECT_EQ(table.list(0)[0].output, 7);
  EXPECT_EQ(table.list(0)[0].probability, 1);
  EXPECT_EQ(table.list(2)[0].output, 7);
  EXPECT_DOUBLE_EQ(table.list(2)[0].probability, 1.0 / 3);
  EXPECT_EQ(table.list(2)[1].output, 8);
  EXPECT_DOUBLE_EQ(table.list(2)[1].probability, 2.0 / 3);
}

TEST(LexicalTable, IsEmptyWithoutPairs) {
  EXPECT_TRUE(estimate_lexical_table({}, 4, 3).entries.empty());
  EXPECT_TRUE(count_lexical_links({}, 4).list(3).empty());
}

TEST(LexicalTable, IsNotEstimatedAfterAStopRequest) {
  const StopRequest stop = true;
  EXPECT_THROW(estimate_lexical_table(pairs_of_a_dictionary(3, 5, 1), 5, 1, &stop), StopException);
}

}  // namespace
}  // namespace edgewise
