// SPDX-License-Identifier: Apache-2.0
// A call that throws leaves the graph as it was, wherever the exception comes from.
#include <stdexcept>

#include "tests/message/support.h"

namespace edgewise {
namespace {

using FrameColumns = std::map<std::string, at::Tensor, std::less<>>;

/// Expects the same columns with the same values, and no others.
void expect_unchanged(const FrameColumns& after, const FrameColumns& before) {
  ASSERT_EQ(after.size(), before.size());
  for (const auto& [name, values] : before) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(after.contains(name));
    expect_equal(after.at(name), values);
  }
}

/// Expects that `call` throws, and that the graph has the columns from before.
void expect_nothing_changed(MessageGraph& g, const std::function<void()>& call) {
  const FrameColumns nodes = g.ndata().columns();
  const FrameColumns edges = g.edata().columns();
  EXPECT_ANY_THROW(call());
  expect_unchanged(g.ndata().columns(), nodes);
  expect_unchanged(g.edata().columns(), edges);
}

constexpr auto kThrows = [](const auto&) -> Columns { throw std::runtime_error("of a user function"); };

/// Returns a new column "a", and a second one that does not fit column "x": rows of another shape.
constexpr auto kSecondColumnDoesNotFit = [](const auto& batch) {
  return Columns{{"a", at::ones({batch.size()})}, {"x", at::ones({batch.size(), 7})}};
};

/// A complete graph of three nodes: node column x [3, 2], edge column x [9, 2].
class MessageExceptions : public testing::Test {
 protected:
  MessageExceptions() {
    g.ndata().set("x", random({3, 2}));
    g.edata().set("x", random({9, 2}));
  }

  MessageGraph g{Graph(complete(3))};
};

TEST_F(MessageExceptions, OfFunctionsOfNodesAndEdgesLeaveTheGraphAsItWas) {
  expect_nothing_changed(g, [&] { g.apply_nodes(kThrows); });
  expect_nothing_changed(g, [&] { g.apply_nodes(kThrows, numbers({1})); });
  expect_nothing_changed(g, [&] { g.apply_edges(kThrows); });
  expect_nothing_changed(g,
                         [&] { g.filter_nodes([](const NodeBatch&) -> at::Tensor { throw std::logic_error(""); }); });
  expect_nothing_changed(g,
                         [&] { g.filter_edges([](const EdgeBatch&) -> at::Tensor { throw std::logic_error(""); }); });
}

TEST_F(MessageExceptions, OfResultsThatDoNotFitLeaveTheGraphAsItWas) {
  expect_nothing_changed(g, [&] { g.apply_nodes(kSecondColumnDoesNotFit, numbers({1, 2})); });
  expect_nothing_changed(g, [&] { g.apply_edges(EdgeFunction(kSecondColumnDoesNotFit), numbers({4})); });
  expect_nothing_changed(g, [&] {
    g.send_and_recv(numbers({0}), {copy_u("x", "m")}, {sum("m", "a"), NodeFunction(kSecondColumnDoesNotFit)});
  });
}

TEST_F(MessageExceptions, OfEachPlaceOfMessagePassingLeaveTheGraphAsItWas) {
  const std::vector<Message> send = {copy_u("x", "m")};
  const std::vector<Reduction> add = {sum("m", "a")};
  expect_nothing_changed(g, [&] { g.update_all({EdgeFunction(kThrows)}, add); });
  expect_nothing_changed(g, [&] { g.update_all({copy_u("x", "m"), EdgeFunction(kThrows)}, add); });
  expect_nothing_changed(g, [&] { g.update_all(send, {NodeFunction(kThrows)}); });
  expect_nothing_changed(g, [&] { g.update_all(send, {sum("m", "a"), NodeFunction(kThrows)}); });
  expect_nothing_changed(g, [&] { g.update_all(send, {sum("m", "a"), sum("missing", "b")}); });
  expect_nothing_changed(g, [&] { g.update_all(send, add, kThrows); });
  expect_nothing_changed(g, [&] { g.send_and_recv(numbers({0, 4}), send, add, kThrows); });
  expect_nothing_changed(g, [&] { g.send_and_recv(numbers({0, 4}), send, add, kSecondColumnDoesNotFit); });
}

TEST_F(MessageExceptions, AlsoTakeBackWhatAUserFunctionWrote) {
  expect_nothing_changed(g, [&] {
    g.apply_nodes([&](const NodeBatch& nodes) -> Columns {
      g.ndata().set("b", nodes.data("x"));
      g.edata().set("b", at::ones({9}));
      throw std::runtime_error("after a write");
    });
  });
}

TEST_F(MessageExceptions, DoNotPreventTheNextCall) {
  EXPECT_ANY_THROW(g.update_all({copy_u("x", "m")}, {sum("m", "a")}, kThrows));
  g.update_all({copy_u("x", "m")}, {sum("m", "a")});
  expect_near(g.ndata().get("a"), g.ndata().get("x").sum(0).expand({3, 2}), 1e-12);
}

}  // namespace
}  // namespace edgewise
