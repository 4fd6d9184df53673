// SPDX-License-Identifier: Apache-2.0
#include "edgewise/graph/neighbours.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "edgewise/graph/builders.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

using testing::ElementsAre;

constexpr std::array<NodeIndex, 3> kRows = {0, 1, 3};

TEST(Neighbours, StandAroundANodeInTheOrderOfItsRow) {
  EXPECT_THAT(neighbours(complete(4), kRows, kRows, Reach::around(3)),
              ElementsAre(kNoNode, 0, 1, /**/ 0, 1, 2, /**/ 2, 3, kNoNode));
  EXPECT_THAT(neighbours(causal(4), kRows, kRows, Reach::up_to(2)), ElementsAre(kNoNode, 0, /**/ 0, 1, /**/ 2, 3));
}

TEST(Neighbours, AreTheSameInEachFormOfARelation) {
  const Relation relation = causal(4);

  EXPECT_EQ(neighbours(relation, kRows, kRows, Reach::around(4)),
            neighbours(relation.to_rows(), kRows, kRows, Reach::around(4)));
}

TEST(Neighbours, FollowThePathOfATree) {
  const Relation paths = Relation::from_rows(9, {0, 3, 5}, {1, 4, 8, 1, 6});

  EXPECT_THAT(neighbours(paths, std::array<NodeIndex, 2>{0, 1}, std::array<NodeIndex, 2>{8, 6}, Reach::up_to(3)),
              ElementsAre(1, 4, 8, /**/ kNoNode, 1, 6));
}

TEST(Neighbours, AreReadFromReaches) {
  EXPECT_EQ(Reach::around(4).before, 1);
  EXPECT_EQ(Reach::around(4).after, 2);
  EXPECT_EQ(Reach::around(4).width(), 4);
  EXPECT_EQ(Reach::up_to(4).before, 3);
  EXPECT_EQ(Reach::up_to(4).after, 0);
}

TEST(Neighbours, SayWhichCentreARowDoesNotSee) {
  const std::array<NodeIndex, 1> row = {1};
  const std::array<NodeIndex, 1> centre = {2};

  EXPECT_EQ(error_of([&] { neighbours(causal(4), row, centre, {}); }),
            "neighbours: row 1 does not see 2, needs to see its centre");
  EXPECT_EQ(error_of([&] { neighbours(causal(4).to_rows(), row, centre, {}); }),
            "neighbours: row 1 does not see 2, needs to see its centre");
  EXPECT_EQ(error_of([&] { neighbours(causal(4), kRows, centre, {}); }),
            "neighbours: 3 rows have 1 centres, one each is needed");
}

}  // namespace
}  // namespace edgewise
