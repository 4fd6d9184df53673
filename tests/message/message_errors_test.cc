// SPDX-License-Identifier: Apache-2.0
#include "tests/message/support.h"

namespace edgewise {
namespace {

/// A complete graph of three nodes, with node column x [3, 2] and edge column y [9, 2, 4].
class MessageErrors : public testing::Test {
 protected:
  MessageErrors() {
    g.ndata().set("x", at::ones({3, 2}));
    g.edata().set("y", at::ones({9, 2, 4}));
  }

  std::string reduce_error(const NodeFunction& reduce) {
    return error_of([&] { causal_graph().update_all({copy_u("x", "m")}, {reduce}); });
  }

  static MessageGraph causal_graph() {
    MessageGraph graph{Graph(causal(2))};
    graph.ndata().set("x", at::ones({2}));
    return graph;
  }

  MessageGraph g{Graph(complete(3))};
};

constexpr auto kNoColumns = [](const auto&) { return Columns{}; };

template <typename Value>
auto returns(Value value) {
  return [value](const auto&) { return value; };
}

TEST_F(MessageErrors, NameNumbersThatTheGraphDoesNotHave) {
  EXPECT_EQ(error_of([&] {
              g.apply_nodes(kNoColumns, numbers({0, 3}));
            }),
            "apply_nodes: nodes holds 3, but there are 3 nodes, counted from 0");
  EXPECT_EQ(error_of([&] { g.apply_edges(kNoColumns, numbers({-1})); }),
            "apply_edges: edges holds -1, but there are 9 edges, counted from 0");
  EXPECT_EQ(error_of([&] { g.send_and_recv(numbers({9}), {}, {}); }),
            "send_and_recv: edges holds 9, but there are 9 edges, counted from 0");
  EXPECT_EQ(error_of([&] { g.filter_nodes(returns(at::Tensor()), numbers({7})); }),
            "filter_nodes: nodes holds 7, but there are 3 nodes, counted from 0");
  EXPECT_EQ(error_of([&] {
              g.filter_edges(returns(at::Tensor()), numbers({1, 1}));
            }),
            "filter_edges: edges holds 1 twice, needs each number once");
  EXPECT_EQ(error_of([&] {
              g.apply_nodes(kNoColumns, at::ones({2, 2}, at::kLong));
            }),
            "apply_nodes: nodes is Long [2, 2], needs Long [count] on the CPU");
  EXPECT_EQ(error_of([&] { g.send_and_recv(at::ones({2}), {}, {}); }),
            "send_and_recv: edges is Float [2], needs Long [count] on the CPU");
}

TEST_F(MessageErrors, NameColumnsThatAreMissing) {
  EXPECT_EQ(error_of([&] { g.apply_edges(copy_u("q", "m")); }),
            "Frame::get: node column 'q' is missing, the columns are 'x'");
  EXPECT_EQ(error_of([&] { g.apply_edges(copy_e("q", "m")); }),
            "Frame::get: edge column 'q' is missing, the columns are 'y'");
}

TEST_F(MessageErrors, NameTheReturnedShapeAndTheNeededShape) {
  EXPECT_EQ(error_of([&] {
              g.apply_nodes(returns(Columns{{"z", at::ones({2, 4})}}), numbers({1}));
            }),
            "apply_nodes: the function returned 'z' as Float [2, 4] for 1 nodes, needs one row per node");
  EXPECT_EQ(error_of([&] {
              g.apply_edges(returns(Columns{{"z", at::Tensor()}}));
            }),
            "apply_edges: the function returned 'z' as undefined for 9 edges, needs one row per edge");
  EXPECT_EQ(error_of([&] {
              g.update_all({returns(Columns{{"z", at::ones({})}})}, {});
            }),
            "update_all: a message function returned 'z' as Float [] for 9 edges, needs one row per edge");
  EXPECT_EQ(error_of([&] {
              g.update_all({}, {returns(Columns{{"z", at::ones({4})}})});
            }),
            "update_all: a reduce function returned 'z' as Float [4] for 3 nodes, needs one row per node");
  EXPECT_EQ(error_of([&] {
              g.update_all({}, {}, returns(Columns{{"z", at::ones({4})}}));
            }),
            "update_all: the node function returned 'z' as Float [4] for 3 nodes, needs one row per node");
  EXPECT_EQ(error_of([&] { g.filter_nodes(returns(at::ones({3}))); }),
            "filter_nodes: the predicate returned Float [3], needs Bool [3]");
  EXPECT_EQ(error_of([&] {
              g.filter_edges(returns(at::Tensor()), numbers({4, 5}));
            }),
            "filter_edges: the predicate returned undefined, needs Bool [2]");
}

TEST_F(MessageErrors, NameTheEmptyFunction) {
  EXPECT_EQ(error_of([&] { g.apply_nodes(nullptr); }),
            "apply_nodes: the function is empty, needs one that can be called");
  EXPECT_EQ(error_of([&] { g.apply_edges(EdgeFunction()); }),
            "apply_edges: the function is empty, needs one that can be called");
  EXPECT_EQ(error_of([&] { g.update_all({EdgeFunction()}, {}); }),
            "update_all: a message function is empty, needs one that can be called");
  EXPECT_EQ(error_of([&] { g.send_and_recv(numbers({0}), {}, {NodeFunction()}); }),
            "send_and_recv: a reduce function is empty, needs one that can be called");
  EXPECT_EQ(error_of([&] { g.filter_nodes(nullptr); }),
            "filter_nodes: the predicate is empty, needs one that can be called");
  EXPECT_EQ(error_of([&] { g.filter_edges(nullptr); }),
            "filter_edges: the predicate is empty, needs one that can be called");
}

TEST_F(MessageErrors, ListTheSentMessagesWhenAReductionReadsAnother) {
  EXPECT_EQ(error_of([&] {
              g.update_all({copy_u("x", "a"), copy_e("y", "b")}, {sum("c", "z")});
            }),
            "update_all: the reduction to 'z' reads message 'c', but the messages sent are 'a', 'b'");
  EXPECT_EQ(error_of([&] { g.send_and_recv(numbers({}), {}, {max("c", "z")}); }),
            "send_and_recv: the reduction to 'z' reads message 'c', but the messages sent are none");
  EXPECT_EQ(reduce_error([](const NodeBatch& nodes) {
              return Columns{{"z", nodes.mailbox("c")}};
            }),
            "NodeBatch::mailbox: message 'c' is missing, the messages are 'm'");
  EXPECT_EQ(error_of([&] { g.apply_nodes([](const NodeBatch& n) {
                             return Columns{{"z", n.mailbox("m")}};
                           }); }),
            "NodeBatch::mailbox: message 'm' is asked for outside of a reduce function, which alone has messages");
}

TEST_F(MessageErrors, NameAMessageSentTwiceAndAColumnWrittenTwice) {
  EXPECT_EQ(error_of([&] {
              g.update_all({copy_u("x", "m"), copy_e("y", "m")}, {});
            }),
            "update_all: 'm' is sent twice, needs each name once");
  EXPECT_EQ(error_of([&] {
              g.update_all({copy_u("x", "m")}, {sum("m", "z"), max("m", "z")});
            }),
            "update_all: 'z' is written twice, needs each name once");
}

TEST_F(MessageErrors, NameTheColumnsThatAReduceFunctionReturnsDifferently) {
  const auto size_of = [](const NodeBatch& nodes) { return nodes.mailbox("m").size(1); };
  EXPECT_EQ(reduce_error([&](const NodeBatch& nodes) {
              return Columns{{size_of(nodes) == 1 ? "a" : "b", nodes.data("x")}};
            }),
            "update_all: a reduce function returned the columns 'a' for one in-degree and 'b' for another, needs the "
            "same");
  EXPECT_EQ(
      reduce_error([](const NodeBatch& nodes) {
        return Columns{{"a", nodes.mailbox("m")}};
      }),
      "update_all: a reduce function returned 'a' as Float [1, 1] for one in-degree and Float [1, 2] for another, "
      "needs rows of one type and shape");
}

TEST_F(MessageErrors, NameShapesThatDoNotAlign) {
  EXPECT_EQ(error_of([&] { g.apply_edges(u_mul_e("x", "y", "m")); }),
            "u_mul_e: on the edges 'x' is [9, 2] and 'y' is [9, 2, 4], needs last dimensions of one size or 1");
  g.ndata().set("wide", at::ones({3, 5}));
  EXPECT_EQ(error_of([&] { g.apply_edges(u_add_v("x", "wide", "m")); }),
            "u_add_v: on the edges 'x' is [9, 2] and 'wide' is [9, 5], needs last dimensions of one size or 1");
  EXPECT_EQ(error_of([&] { g.apply_edges(u_dot_v("x", "wide", "m")); }),
            "u_dot_v: on the edges 'x' is [9, 2] and 'wide' is [9, 5], needs a last dimension of one size");
  g.ndata().set("flat", at::ones({3}));
  EXPECT_EQ(error_of([&] { g.apply_edges(u_dot_v("flat", "flat", "m")); }),
            "u_dot_v: on the edges 'flat' is [9] and 'flat' is [9], needs a last dimension of one size");
  g.ndata().set("heads", at::ones({3, 2, 4}));
  g.ndata().set("more heads", at::ones({3, 3, 4}));
  EXPECT_EQ(error_of([&] { g.apply_edges(u_dot_v("heads", "more heads", "m")); }),
            "u_dot_v: on the edges 'heads' is [9, 2, 4] and 'more heads' is [9, 3, 4], needs last dimensions of one "
            "size or 1");
}

TEST_F(MessageErrors, NameTheTypeOfAMessageThatCannotBeAveraged) {
  g.ndata().set("count", numbers({1, 2, 3}));
  EXPECT_EQ(error_of([&] { g.update_all({copy_u("count", "m")}, {mean("m", "z")}); }),
            "mean: the message is Long [9], needs a floating type");
}

TEST_F(MessageErrors, NameAnUnknownBuiltInKind) {
  EXPECT_EQ(error_of([&] {
              g.apply_edges(BuiltinMessage{static_cast<BuiltinMessage::Kind>(7), {}, {}, "m"});
            }),
            "BuiltinMessage: kind is 7, needs one of the six that there are");
  EXPECT_EQ(error_of([&] {
              g.update_all({copy_u("x", "m")}, {BuiltinReduction{static_cast<BuiltinReduction::Kind>(7), "m", "z"}});
            }),
            "BuiltinReduction: kind is 7, needs one of the four that there are");
}

TEST_F(MessageErrors, NameTheTypeAndShapeOfAColumnThatIsPartlyWritten) {
  EXPECT_EQ(error_of([&] { g.send_and_recv(numbers({0}), {copy_e("y", "m")}, {sum("m", "x")}); }),
            "Frame::set: values of node column 'x' is Float [1, 2, 4], but the column is Float [3, 2], needs rows of "
            "one type "
            "and shape");
}

}  // namespace
}  // namespace edgewise
