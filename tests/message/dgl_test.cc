// SPDX-License-Identifier: Apache-2.0
// update_all and built-in messages do what a user of DGL expects.
#include "tests/message/support.h"

namespace edgewise {
namespace {

TEST(UpdateAll, AppliesTheNodeFunctionToAllNodes) {
  MessageGraph g{Graph(Relation::from_csr(3, {0, 1, 1, 1}, {2}))};
  g.ndata().set("x", numbers({1, 2, 3}));

  g.update_all({copy_u("x", "m")}, {sum("m", "x")}, [](const NodeBatch& nodes) {
    expect_equal(nodes.nodes(), numbers({0, 1, 2}));
    return Columns{{"x", nodes.data("x") + 1}};
  });

  expect_equal(g.ndata().get("x"), numbers({4, 1, 1}));
}

TEST(ApplyEdges, BroadcastsTheRowsOfTwoColumnsFromTheLastDimension) {
  MessageGraph g{Graph(Relation::from_csr(2, {0, 1, 2}, {1, 0}))};
  g.ndata().set("v", numbers({1, 2, 3, 4, 5, 6, 7, 8}).view({2, 2, 2}));
  g.ndata().set("q", numbers({1, 10, 100, 1000}).view({2, 2}));
  g.edata().set("score", numbers({2, 3}));

  g.apply_edges(u_mul_e("v", "score", "scaled"));
  g.apply_edges(u_add_v("v", "q", "added"));
  g.apply_edges(u_dot_v("v", "q", "dot"));

  expect_equal(g.edata().get("scaled"), numbers({10, 12, 14, 16, 3, 6, 9, 12}).view({2, 2, 2}));
  expect_equal(g.edata().get("added"), numbers({6, 16, 8, 18, 101, 1002, 103, 1004}).view({2, 2, 2}));
  expect_equal(g.edata().get("dot"), numbers({65, 87, 2100, 4300}).view({2, 2, 1}));
}

}  // namespace
}  // namespace edgewise
