// SPDX-License-Identifier: Apache-2.0
// The generator of combinations that the sweep over all options uses.
#include "tests/experiment/combination_cover.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace edgewise {
namespace {

const std::vector<Factor> kFactors = {
    {"a", {"0", "1"}}, {"b", {"0", "1", "2"}}, {"c", {"0", "1"}}, {"d", {"0", "1", "2", "3"}}, {"e", {"0", "1"}}};

// d is 0 unless a is 1, and b and c are not both 1.
bool is_allowed(const Combination& x) { return (x[3] == 0 || x[0] == 1) && !(x[1] == 1 && x[2] == 1); }

TEST(CombinationCover, HasEachTripleOfWhichThereIsAnAllowedCombination) {
  const Cover cover = cover_triples(kFactors, is_allowed);

  std::size_t triples = 0;
  Combination x(5, 0);
  for (x[0] = 0; x[0] < 2; ++x[0]) {
    for (x[1] = 0; x[1] < 3; ++x[1]) {
      for (x[2] = 0; x[2] < 2; ++x[2]) {
        for (x[3] = 0; x[3] < 4; ++x[3]) {
          for (x[4] = 0; x[4] < 2; ++x[4]) {
            if (!is_allowed(x)) continue;
            for (std::size_t i = 0; i < 5; ++i) {
              for (std::size_t j = i + 1; j < 5; ++j) {
                for (std::size_t k = j + 1; k < 5; ++k) {
                  ++triples;
                  EXPECT_TRUE(std::ranges::any_of(
                      cover.combinations,
                      [&](const Combination& y) { return y[i] == x[i] && y[j] == x[j] && y[k] == x[k]; }))
                      << i << j << k;
                }
              }
            }
          }
        }
      }
    }
  }
  EXPECT_GT(triples, 0);
  EXPECT_TRUE(std::ranges::all_of(cover.combinations, is_allowed));
}

TEST(CombinationCover, ListsThePairsOfWhichThereIsNoAllowedCombination) {
  const Cover cover = cover_triples(kFactors, is_allowed);

  EXPECT_EQ(cover.impossible_pairs.size(), 4);  // a = 0 with d = 1, 2, 3, and b = c = 1
}

}  // namespace
}  // namespace edgewise
