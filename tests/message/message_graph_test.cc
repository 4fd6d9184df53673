// SPDX-License-Identifier: Apache-2.0
#include "edgewise/message/message_graph.h"

#include <algorithm>
#include <set>

#include "edgewise/message/builtins.h"
#include "tests/message/support.h"

namespace edgewise {
namespace {

/// Computes one row for each edge in a loop: `value(source, destination, edge)`.
template <typename Value>
at::Tensor compute_on_each_edge(const MessageGraph& g, const Value& value, at::IntArrayRef row_shape) {
  const EdgeList ends = g.graph().all_edges();
  std::vector<std::int64_t> shape = row_shape.vec();
  shape.insert(shape.begin(), g.graph().num_edges());
  at::Tensor result = at::zeros(shape, at::kDouble);
  for (std::int64_t edge = 0; edge < g.graph().num_edges(); ++edge) {
    result[edge].copy_(value(ends.sources[edge], ends.destinations[edge], edge));
  }
  return result;
}

/// Returns the tolerance for the sum of a few numbers of which `values` are computed.
double relative_to(const at::Tensor& values) {
  return values.numel() == 0 ? 0 : 1e-14 * std::max(1.0, values.abs().max().item<double>());
}

struct MessageCase {
  std::string name;
  BuiltinMessage message;
  std::vector<std::int64_t> row_shape;
  std::function<at::Tensor(const MessageGraph&, std::int64_t source, std::int64_t destination, std::int64_t edge)>
      value;
};

using MakeMessage = BuiltinMessage (*)(std::string, std::string, std::string);

struct NamedMessage {
  std::string name;  // such as "u_mul_e"
  MakeMessage make;
};

std::vector<NamedMessage> messages_of_two_columns() {
  return {{"u_add_v", u_add_v}, {"u_add_e", u_add_e}, {"v_add_u", v_add_u}, {"v_add_e", v_add_e}, {"e_add_u", e_add_u},
          {"e_add_v", e_add_v}, {"u_sub_v", u_sub_v}, {"u_sub_e", u_sub_e}, {"v_sub_u", v_sub_u}, {"v_sub_e", v_sub_e},
          {"e_sub_u", e_sub_u}, {"e_sub_v", e_sub_v}, {"u_mul_v", u_mul_v}, {"u_mul_e", u_mul_e}, {"v_mul_u", v_mul_u},
          {"v_mul_e", v_mul_e}, {"e_mul_u", e_mul_u}, {"e_mul_v", e_mul_v}, {"u_div_v", u_div_v}, {"u_div_e", u_div_e},
          {"v_div_u", v_div_u}, {"v_div_e", v_div_e}, {"e_div_u", e_div_u}, {"e_div_v", e_div_v}, {"u_dot_v", u_dot_v},
          {"u_dot_e", u_dot_e}, {"v_dot_u", v_dot_u}, {"v_dot_e", v_dot_e}, {"e_dot_u", e_dot_u}, {"e_dot_v", e_dot_v}};
}

/// Returns all built-in messages. The column of the sources is k, that of the destinations q, and that of the edges
/// score, or for a dot product wide.
std::vector<MessageCase> builtin_messages() {
  const auto row = [](const MessageGraph& g, char letter, const char* edge_column, auto source, auto destination,
                      auto edge) {
    if (letter == 'e') return g.edata().get(edge_column)[edge];
    return letter == 'u' ? g.ndata().get("k")[source] : g.ndata().get("q")[destination];
  };
  std::vector<MessageCase> cases = {
      {"copy_u",
       copy_u("k", "m"),
       {kHeads, kHeadSize},
       [=](const auto& g, auto... ends) { return row(g, 'u', "score", ends...); }},
      {"copy_e",
       copy_e("score", "m"),
       {kHeads, 1},
       [=](const auto& g, auto... ends) { return row(g, 'e', "score", ends...); }},
  };
  for (const NamedMessage& message : messages_of_two_columns()) {
    const std::string op = message.name.substr(2, 3);
    const char* edge_column = op == "dot" ? "wide" : "score";
    const auto column = [&](char letter) { return letter == 'e' ? edge_column : letter == 'u' ? "k" : "q"; };
    cases.push_back({message.name,
                     message.make(column(message.name.front()), column(message.name.back()), "m"),
                     {kHeads, op == "dot" ? 1 : kHeadSize},
                     [=](const auto& g, auto... ends) -> at::Tensor {
                       const at::Tensor left = row(g, message.name.front(), edge_column, ends...);
                       const at::Tensor right = row(g, message.name.back(), edge_column, ends...);
                       if (op == "add") return left + right;
                       if (op == "sub") return left - right;
                       if (op == "mul") return left * right;
                       return op == "div" ? left / right : (left * right).sum(-1, /*keepdim=*/true);
                     }});
  }
  return cases;
}

TEST(BuiltinMessages, HaveTheNamesOfTheirFunctions) {
  for (const NamedMessage& message : messages_of_two_columns()) {
    EXPECT_EQ(builtin_name(message.make("a", "b", "m")), message.name);
  }
  EXPECT_EQ(builtin_name(copy_u("a", "m")), "copy_u");
  EXPECT_EQ(builtin_name(copy_e("a", "m")), "copy_e");
}

TEST(ApplyEdges, WritesEachBuiltInMessageOnEveryEdge) {
  for (const NamedGraph& named : graph_zoo()) {
    for (const MessageCase& c : builtin_messages()) {
      SCOPED_TRACE(named.name + ", " + c.name);
      MessageGraph g = with_columns(named.graph);
      g.edata().set("wide", random({named.graph.num_edges(), kHeads, kHeadSize}));
      const at::Tensor expected = compute_on_each_edge(
          g, [&](auto... ends) { return c.value(g, ends...); }, c.row_shape);
      const at::Tensor half = half_of(named.graph.num_edges()).flip(0);

      g.apply_edges(c.message);
      expect_near(g.edata().get("m"), expected, relative_to(expected));

      g.edata().erase("m");
      g.apply_edges(c.message, half);
      expect_near(g.edata().get("m").index_select(0, half), expected.index_select(0, half), relative_to(expected));
    }
  }
}

TEST(ApplyEdges, WritesTheGivenEdgesAndKeepsTheOthers) {
  for (const NamedGraph& named : graph_zoo()) {
    SCOPED_TRACE(named.name);
    MessageGraph g = with_columns(named.graph);
    const at::Tensor half = half_of(named.graph.num_edges());
    const at::Tensor before = g.edata().get("score");
    at::Tensor expected = before.clone();
    expected.index_copy_(0, half, before.index_select(0, half).exp());

    g.apply_edges([](const EdgeBatch& edges) { return Columns{{"score", edges.data("score").exp()}}; }, half.flip(0));
    g.apply_edges(copy_e("score", "new"), half);

    expect_equal(g.edata().get("score"), expected);
    expect_equal(g.edata().get("new").index_select(0, half), expected.index_select(0, half));
    EXPECT_EQ(at::count_nonzero(g.edata().get("new")).item<std::int64_t>(), half.numel() * kHeads);
  }
}

TEST(ApplyEdges, GivesAFunctionTheEndsAndNumbersOfItsEdges) {
  MessageGraph g{make_pair_graph({2, 2})};  // ee 0-3, ed 4-7, dd 8-10
  g.ndata().set("x", numbers({10, 11, 12, 13}));
  g.edata().set("y", at::arange(11, at::kLong));

  g.apply_edges(
      [](const EdgeBatch& edges) {
        EXPECT_EQ(edges.size(), 3);
        expect_equal(edges.edges(), numbers({10, 5, 0}));
        expect_equal(edges.sources(), numbers({3, 1, 0}));
        expect_equal(edges.destinations(), numbers({3, 2, 0}));
        expect_equal(edges.source("x"), numbers({13, 11, 10}));
        expect_equal(edges.destination("x"), numbers({13, 12, 10}));
        expect_equal(edges.data("y"), numbers({10, 5, 0}));
        return Columns{};
      },
      numbers({10, 5, 0}));
}

TEST(ApplyNodes, WritesTheGivenNodesAndKeepsTheOthers) {
  MessageGraph g{Graph(causal(4))};
  g.ndata().set("x", numbers({1, 2, 3, 4}));

  g.apply_nodes(
      [](const NodeBatch& nodes) {
        expect_equal(nodes.nodes(), numbers({3, 1}));
        return Columns{{"x", nodes.data("x") * 10}, {"new", nodes.data("x")}};
      },
      numbers({3, 1}));

  expect_equal(g.ndata().get("x"), numbers({1, 20, 3, 40}));
  expect_equal(g.ndata().get("new"), numbers({0, 2, 0, 4}));
}

TEST(ApplyNodes, TakesAllNodesWhenNoneAreGiven) {
  MessageGraph g{Graph(causal(3))};
  g.ndata().set("x", numbers({1, 2, 3}));

  g.apply_nodes([](const NodeBatch& nodes) {
    EXPECT_EQ(nodes.size(), 3);
    expect_equal(nodes.nodes(), numbers({0, 1, 2}));
    return Columns{{"x", nodes.data("x").to(at::kDouble) / 2}};
  });

  expect_equal(g.ndata().get("x"), at::tensor({0.5, 1.0, 1.5}, at::kDouble));
}

TEST(ApplyNodes, CallsTheFunctionWithAnEmptyBatchWhenNoNodeIsGiven) {
  MessageGraph g{Graph(causal(3))};
  g.ndata().set("x", at::ones({3, 2}));

  g.apply_nodes([](const NodeBatch& nodes) { return Columns{{"y", nodes.data("x").repeat({1, 2})}}; }, numbers({}));

  expect_equal(g.ndata().get("y"), at::zeros({3, 4}));
}

struct ReductionCase {
  std::string name;
  BuiltinReduction reduction;
  std::function<at::Tensor(const std::vector<at::Tensor>& messages)> value;
};

std::vector<ReductionCase> builtin_reductions() {
  const auto total = [](const std::vector<at::Tensor>& messages) {
    at::Tensor sum_of = at::zeros_like(messages.front());
    for (const at::Tensor& message : messages) sum_of += message;
    return sum_of;
  };
  return {
      {"sum", sum("m", "out"), total},
      {"mean", mean("m", "out"),
       [=](const auto& messages) { return total(messages) / static_cast<double>(messages.size()); }},
      {"max", max("m", "out"),
       [](const auto& messages) {
         at::Tensor maximum = messages.front();
         for (const at::Tensor& message : messages) maximum = at::maximum(maximum, message);
         return maximum;
       }},
      {"min", min("m", "out"),
       [](const auto& messages) {
         at::Tensor minimum = messages.front();
         for (const at::Tensor& message : messages) minimum = at::minimum(minimum, message);
         return minimum;
       }},
  };
}

/// Returns `before`, with the row of each destination of `edges` replaced by `value(the rows of v at its sources)`.
template <typename Value>
at::Tensor reduce_by_loops(const MessageGraph& g, const at::Tensor& edges, const at::Tensor& before,
                           const Value& value) {
  const EdgeList ends = g.graph().all_edges();
  std::map<std::int64_t, std::vector<at::Tensor>> arrived;
  for (std::int64_t i = 0; i < edges.numel(); ++i) {
    const auto edge = edges[i].item<std::int64_t>();
    arrived[ends.destinations[edge]].push_back(g.ndata().get("v")[ends.sources[edge]]);
  }
  at::Tensor result = before.clone();
  for (const auto& [node, messages] : arrived) result[node].copy_(value(messages));
  return result;
}

TEST(SendAndRecv, ReducesMessagesAndKeepsTheRowsOfNodesWithoutMessages) {
  for (const NamedGraph& named : graph_zoo()) {
    for (const ReductionCase& c : builtin_reductions()) {
      SCOPED_TRACE(named.name + ", " + c.name);
      MessageGraph g = with_columns(named.graph);
      const at::Tensor before = random({named.graph.num_nodes(), kHeads, kHeadSize});
      g.ndata().set("out", before);
      const at::Tensor half = half_of(named.graph.num_edges());

      g.send_and_recv(half.flip(0), {copy_u("v", "m")}, {c.reduction});

      expect_near(g.ndata().get("out"), reduce_by_loops(g, half, before, c.value), 1e-14);
    }
  }
}

TEST(UpdateAll, GivesZerosToNodesWithoutInEdges) {
  for (const NamedGraph& named : graph_zoo()) {
    for (const ReductionCase& c : builtin_reductions()) {
      SCOPED_TRACE(named.name + ", " + c.name);
      MessageGraph g = with_columns(named.graph);
      const at::Tensor zeros = at::zeros({named.graph.num_nodes(), kHeads, kHeadSize}, at::kDouble);
      const at::Tensor all = at::arange(named.graph.num_edges(), at::kLong);
      g.ndata().set("out", at::ones({named.graph.num_nodes()}));  // of another shape

      g.update_all({copy_u("v", "m")}, {c.reduction});

      expect_near(g.ndata().get("out"), reduce_by_loops(g, all, zeros, c.value), 1e-14);
    }
  }
}

TEST(SendAndRecv, ReducesEachBuiltInMessageAsItReducesTheMessagesOfAFunction) {
  for (const NamedGraph& named : graph_zoo()) {
    for (const MessageCase& c : builtin_messages()) {
      SCOPED_TRACE(named.name + ", " + c.name);
      MessageGraph g = with_columns(named.graph);
      g.edata().set("wide", random({named.graph.num_edges(), kHeads, kHeadSize}));
      const at::Tensor edges = named.graph.num_edges() % 2 == 0 ? half_of(named.graph.num_edges())
                                                                : at::arange(named.graph.num_edges(), at::kLong);
      const std::vector<Reduction> reductions = {sum("m", "sum"), mean("m", "mean"), max("m", "max"), min("m", "min")};
      MessageGraph plain = g;
      plain.apply_edges(c.message);
      const EdgeFunction copy = [](const EdgeBatch& batch) { return Columns{{"m", batch.data("m")}}; };

      g.send_and_recv(edges, {c.message}, reductions);
      plain.send_and_recv(edges, {copy}, reductions);

      for (const char* name : {"sum", "mean", "max", "min"}) {
        const at::Tensor expected = plain.ndata().get(name);
        expect_near(g.ndata().get(name), expected, 10 * relative_to(expected));
      }
    }
  }
}

TEST(SendAndRecv, TakesTheNumbersOfARelationThatTheUserChanged) {
  MessageGraph g{make_pair_graph({2, 2})};  // ed 4-7: encoder 0, 1 to decoder 2, 3
  g.ndata().set("x", at::tensor({1.0, 2.0, 3.0, 4.0}, at::kDouble));
  at::Tensor edges = g.edges(kEncoderDecoder);
  edges[3] = 0;

  g.send_and_recv(edges, {copy_u("x", "m")}, {sum("m", "out")});

  expect_equal(g.ndata().get("out"), at::tensor({1.0, 0.0, 3.0, 1.0}, at::kDouble));
  expect_equal(g.edges(kEncoderDecoder), numbers({4, 5, 6, 7}));
}

TEST(EdgeSoftmax, DividesTheExponentialsOfTheGivenEdgesByTheirSums) {
  for (const NamedGraph& named : graph_zoo()) {
    SCOPED_TRACE(named.name);
    const std::int64_t num_edges = named.graph.num_edges();
    for (const at::Tensor& edges : {at::arange(num_edges, at::kLong), half_of(num_edges).flip(0)}) {
      MessageGraph g = with_columns(named.graph);
      g.edge_softmax("score", "weight", edges);
      g.apply_edges([](const EdgeBatch& batch) { return Columns{{"exp", batch.data("score").exp()}}; }, edges);
      g.send_and_recv(edges, {copy_e("exp", "m")}, {sum("m", "z")});
      g.apply_edges(e_div_v("exp", "z", "expected"), edges);

      expect_near(g.edata().get("weight"), g.edata().get("expected"), 1e-14);
    }
  }
}

TEST(EdgeBatch, GathersAColumnOnce) {
  MessageGraph g = with_columns(Graph(causal(4)));
  g.apply_edges([](const EdgeBatch& edges) {
    EXPECT_TRUE(edges.source("k").is_same(edges.source("k")));
    EXPECT_TRUE(edges.destination("q").is_same(edges.destination("q")));
    return Columns{};
  });
}

TEST(SendAndRecv, GivesMailboxesWithoutACopy) {
  MessageGraph g = with_columns(Graph(causal(4)));
  at::Tensor sent;
  g.update_all({[&](const EdgeBatch& edges) {
                 sent = edges.source("k");
                 return Columns{{"m", sent}};
               }},
               {[&](const NodeBatch& nodes) {
                 EXPECT_TRUE(nodes.mailbox("m").is_alias_of(sent));
                 return Columns{};
               }});
}

TEST(SendAndRecv, CallsAReduceFunctionOnceForEachInDegree) {
  const std::vector<std::int64_t> lengths = {2, 0, 3, 2, 3};
  MessageGraph g{Graph(prefix(5, lengths))};
  g.ndata().set("x", numbers({10, 11, 12, 13, 14}));
  std::vector<std::vector<std::int64_t>> shapes;
  std::vector<at::Tensor> batches;

  g.update_all({copy_u("x", "m")}, {[&](const NodeBatch& nodes) {
                 shapes.push_back(nodes.mailbox("m").sizes().vec());
                 batches.push_back(nodes.nodes());
                 return Columns{{"out", nodes.mailbox("m").sum(1) + nodes.data("x")}};
               }});

  ASSERT_EQ(shapes, (std::vector<std::vector<std::int64_t>>{{2, 2}, {2, 3}}));
  expect_equal(batches[0], numbers({0, 3}));
  expect_equal(batches[1], numbers({2, 4}));
  expect_equal(g.ndata().get("out"), numbers({21 + 10, 0, 33 + 12, 21 + 13, 33 + 14}));
}

TEST(SendAndRecv, FillsMailboxesByAscendingEdgeNumber) {
  for (const NamedGraph& named : graph_zoo()) {
    SCOPED_TRACE(named.name);
    MessageGraph g(named.graph);
    g.edata().set("number", at::arange(named.graph.num_edges(), at::kLong));
    const EdgeList ends = named.graph.all_edges();
    std::set<std::int64_t> in_degrees;
    std::int64_t num_messages = 0;

    g.send_and_recv(half_of(named.graph.num_edges()).flip(0), {copy_e("number", "m")}, {[&](const NodeBatch& nodes) {
                      const at::Tensor mail = nodes.mailbox("m");
                      EXPECT_TRUE(in_degrees.insert(mail.size(1)).second);
                      EXPECT_TRUE((mail.slice(1, 1) > mail.slice(1, 0, -1)).all().item<bool>());
                      for (std::int64_t row = 0; row < nodes.size(); ++row) {
                        for (std::int64_t i = 0; i < mail.size(1); ++i, ++num_messages) {
                          const auto edge = mail[row][i].item<std::int64_t>();
                          EXPECT_EQ(ends.destinations[edge], nodes.nodes()[row].item<std::int64_t>());
                        }
                      }
                      return Columns{};
                    }});

    EXPECT_EQ(num_messages, half_of(named.graph.num_edges()).numel());
  }
}

TEST(SendAndRecv, CallsFunctionsOnEmptyBatchesWhenNoEdgeIsGiven) {
  MessageGraph g = with_columns(Graph(complete(3)));
  int calls = 0;
  const NodeFunction reduce = [&](const NodeBatch& nodes) {
    ++calls;
    EXPECT_EQ(nodes.mailbox("v").sizes(), (std::vector<std::int64_t>{0, 1, kHeads, kHeadSize}));
    return reduce_func(nodes);
  };

  g.ndata().set("kept", numbers({4, 5, 6}));
  g.send_and_recv(numbers({}), {message_func}, {reduce, max("v", "top")}, [](const NodeBatch& nodes) {
    EXPECT_EQ(nodes.size(), 0);
    return Columns{{"kept", nodes.data("kept")}, {"late", nodes.data("dx")}};
  });

  EXPECT_EQ(calls, 1);
  const at::Tensor zeros = at::zeros({3, kHeads, kHeadSize}, at::kDouble);
  for (const char* name : {"dx", "top", "late"}) expect_equal(g.ndata().get(name), zeros);
  expect_equal(g.ndata().get("kept"), numbers({4, 5, 6}));
}

TEST(SendAndRecv, AppliesTheNodeFunctionToTheDestinationsReached) {
  MessageGraph g{make_pair_graph({2, 2})};  // ed 4-7: encoder 0, 1 to decoder 2, 3
  g.ndata().set("x", numbers({1, 2, 3, 4}));

  g.send_and_recv(numbers({6, 7}), {copy_u("x", "m")}, {sum("m", "x")}, [](const NodeBatch& nodes) {
    expect_equal(nodes.nodes(), numbers({3}));
    return Columns{{"x", nodes.data("x") * 100}};
  });

  expect_equal(g.ndata().get("x"), numbers({1, 2, 3, 300}));
}

TEST(SendAndRecv, DoesNotDependOnTheOrderOfTheGivenEdges) {
  for (const NamedGraph& named : graph_zoo()) {
    SCOPED_TRACE(named.name);
    MessageGraph g = with_columns(named.graph);
    const at::Tensor all = at::arange(named.graph.num_edges(), at::kLong);

    g.update_all({message_func}, {reduce_func, sum("v", "total")});
    const at::Tensor dx = g.ndata().get("dx");
    const at::Tensor total = g.ndata().get("total");
    g.send_and_recv(all.index_select(0, at::randperm(all.numel(), at::kLong)), {message_func},
                    {reduce_func, sum("v", "total")});

    expect_equal(g.ndata().get("dx"), dx);
    expect_equal(g.ndata().get("total"), total);
  }
}

TEST(SendAndRecv, GivesTheSameInOneCallAsInACallForEachMessage) {
  MessageGraph together = with_columns(Graph(causal(6)));
  MessageGraph apart = with_columns(Graph(causal(6)));

  together.update_all({u_mul_e("v", "score", "v"), copy_e("score", "score")}, {sum("v", "wv"), max("score", "z")});
  apart.update_all({u_mul_e("v", "score", "v")}, {sum("v", "wv")});
  apart.update_all({copy_e("score", "score")}, {max("score", "z")});

  for (const char* name : {"wv", "z"}) expect_equal(together.ndata().get(name), apart.ndata().get(name));
  EXPECT_FALSE(together.ndata().has("score"));
}

TEST(SendAndRecv, ReadsColumnsAsTheyWereBeforeTheCall) {
  MessageGraph g{Graph(window(3, {.before = 1}))};
  g.ndata().set("x", numbers({1, 2, 4}));

  g.update_all({copy_u("x", "m")}, {sum("m", "x"), [](const NodeBatch& nodes) {
                                      return Columns{{"y", nodes.data("x")}};
                                    }});

  expect_equal(g.ndata().get("x"), numbers({1, 3, 6}));
  expect_equal(g.ndata().get("y"), numbers({1, 2, 4}));
}

TEST(SendAndRecv, ChangesNothingWhenAFunctionThrows) {
  MessageGraph g{Graph(complete(3))};
  g.ndata().set("x", numbers({1, 2, 4}));

  EXPECT_THROW(g.update_all({copy_u("x", "m")}, {sum("m", "x"), sum("other", "y")}), Error);

  expect_equal(g.ndata().get("x"), numbers({1, 2, 4}));
  EXPECT_FALSE(g.ndata().has("y"));
}

TEST(SendAndRecv, SumsWholeNumbersAndFloatsInTheirOwnType) {
  MessageGraph g{Graph(causal(3))};
  g.ndata().set("count", numbers({1, 2, 4}));
  g.ndata().set("x", at::tensor({1.0f, -2.0f, 4.0f}));

  g.update_all({copy_u("count", "count"), copy_u("x", "x")},
               {sum("count", "sum"), max("count", "max"), mean("x", "mean"), max("x", "top")});

  expect_equal(g.ndata().get("sum"), numbers({1, 3, 7}));
  expect_equal(g.ndata().get("max"), numbers({1, 2, 4}));
  expect_equal(g.ndata().get("mean"), at::tensor({1.0f, -0.5f, 1.0f}));
  expect_equal(g.ndata().get("top"), at::tensor({1.0f, 1.0f, 4.0f}));
}

TEST(UpdateAll, GivesTheGradientOfAMaximumToItsFirstMessage) {
  MessageGraph g{Graph(complete(3))};
  const at::Tensor x = at::tensor({2.0, 5.0, 5.0}, at::kDouble).requires_grad_();
  g.ndata().set("x", x);

  g.update_all({copy_u("x", "m")}, {max("m", "top")});
  g.ndata().get("top").sum().backward();

  expect_equal(x.grad(), at::tensor({0.0, 3.0, 0.0}, at::kDouble));
}

TEST(FilterNodes, KeepsNodesForWhichThePredicateHoldsInTheirOrder) {
  MessageGraph g{Graph(causal(5))};
  g.ndata().set("x", numbers({5, 1, 4, 2, 3}));
  const auto is_large = [](const NodeBatch& nodes) { return nodes.data("x") > 2; };

  expect_equal(g.filter_nodes(is_large), numbers({0, 2, 4}));
  expect_equal(g.filter_nodes(is_large, numbers({4, 3, 0})), numbers({4, 0}));
  expect_equal(g.filter_nodes(is_large, numbers({})), numbers({}));
}

TEST(FilterEdges, KeepsEdgesForWhichThePredicateHoldsInTheirOrder) {
  MessageGraph g{Graph(causal(3))};  // 0-0, 0-1, 1-1, 0-2, 1-2, 2-2
  g.ndata().set("active", at::tensor({0, 1, 1}, at::kLong).to(at::kBool));
  const auto is_active = [](const EdgeBatch& edges) { return edges.source("active"); };

  expect_equal(g.filter_edges(is_active), numbers({2, 4, 5}));
  expect_equal(g.filter_edges(is_active, numbers({5, 0, 2})), numbers({5, 2}));
  expect_equal(g.filter_edges([](const EdgeBatch& edges) { return edges.sources() == edges.destinations(); }),
               numbers({0, 2, 5}));
}

TEST(MessageGraph, KeepsItsColumnsWhenACopyWrites) {
  MessageGraph g{Graph(causal(2))};
  g.ndata().set("x", numbers({1, 2}));
  MessageGraph copy = g;
  copy.apply_nodes([](const NodeBatch& nodes) { return Columns{{"x", nodes.data("x") + 1}}; }, numbers({0}));

  expect_equal(g.ndata().get("x"), numbers({1, 2}));
  expect_equal(copy.ndata().get("x"), numbers({2, 2}));
}

}  // namespace
}  // namespace edgewise
