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

TEST(FindNeighbours, ReturnsTheSourcesAroundANodeInTheOrderOfItsRow) {
  EXPECT_THAT(find_neighbours(complete(4), kRows, kRows, NeighbourWindow::centred(3)),
              ElementsAre(kNoNode, 0, 1, /**/ 0, 1, 2, /**/ 2, 3, kNoNode));
  EXPECT_THAT(find_neighbours(causal(4), kRows, kRows, NeighbourWindow::causal(2)),
              ElementsAre(kNoNode, 0, /**/ 0, 1, /**/ 2, 3));
}

TEST(FindNeighbours, ReturnsEqualNeighboursForEachForm) {
  const Relation relation = causal(4);

  EXPECT_EQ(find_neighbours(relation, kRows, kRows, NeighbourWindow::centred(4)),
            find_neighbours(relation.to_csr(), kRows, kRows, NeighbourWindow::centred(4)));
}

TEST(FindNeighbours, FollowsThePathOfATree) {
  const Relation paths = Relation::from_csr(9, {0, 3, 5}, {1, 4, 8, 1, 6});

  EXPECT_THAT(find_neighbours(paths, std::array<NodeIndex, 2>{0, 1}, std::array<NodeIndex, 2>{8, 6},
                              NeighbourWindow::causal(3)),
              ElementsAre(1, 4, 8, /**/ kNoNode, 1, 6));
}

TEST(NeighbourWindow, IsCentredOrCausal) {
  EXPECT_EQ(NeighbourWindow::centred(4).before, 1);
  EXPECT_EQ(NeighbourWindow::centred(4).after, 2);
  EXPECT_EQ(NeighbourWindow::centred(4).width(), 4);
  EXPECT_EQ(NeighbourWindow::causal(4).before, 3);
  EXPECT_EQ(NeighbourWindow::causal(4).after, 0);
}

TEST(FindNeighbours, RejectsACentreThatIsNoSourceOfItsRow) {
  const std::array<NodeIndex, 1> row = {1};
  const std::array<NodeIndex, 1> centre = {2};

  EXPECT_EQ(error_of([&] { find_neighbours(causal(4), row, centre, {}); }),
            "find_neighbours: row 1 has no source 2, needs its centre among its sources");
  EXPECT_EQ(error_of([&] { find_neighbours(causal(4).to_csr(), row, centre, {}); }),
            "find_neighbours: row 1 has no source 2, needs its centre among its sources");
  EXPECT_EQ(error_of([&] { find_neighbours(causal(4), kRows, centre, {}); }),
            "find_neighbours: 3 rows have 1 centres, needs one each");
}

}  // namespace
}  // namespace edgewise
