// SPDX-License-Identifier: Apache-2.0
#include <ATen/Parallel.h>

#include "edgewise/message/builtins.h"
#include "tests/message/support.h"
#include "tests/support/gradient_check.h"

// Compares the two message-passing forms of attention in the graph tutorial (docs/sources.md), and checks the gradients
// of message passing.

namespace edgewise {
namespace {

// Computes the tutorial's propagate_attention, and the division by z that the tutorial has in post_func.
void propagate_attention(MessageGraph& g, const at::Tensor& edges) {
  g.apply_edges(u_dot_v("k", "q", "score"), edges);
  g.apply_edges(
      [](const EdgeBatch& batch) {
        return Columns{{"score", (batch.data("score") / std::sqrt(static_cast<double>(kHeadSize))).exp()}};
      },
      edges);
  g.send_and_recv(edges, {u_mul_e("v", "score", "v"), copy_e("score", "score")}, {sum("v", "wv"), sum("score", "z")},
                  [](const NodeBatch& nodes) {
                    return Columns{{"dx", nodes.data("wv") / nodes.data("z")}};
                  });
}

struct Attention {
  at::Tensor dx;
  std::vector<at::Tensor> gradients;  // gradients of k, q and v
};

template <typename Propagate>
Attention run_attention(const Graph& graph, const at::Tensor& edges, const Propagate& propagate) {
  MessageGraph g = with_columns(graph);
  g.edata().erase("score");
  std::vector<at::Tensor> leaves;
  for (const char* name : {"k", "q", "v"}) {
    leaves.push_back(g.ndata().get(name).clone().requires_grad_());
    g.ndata().set(name, leaves.back());
  }
  propagate(g, edges);

  Attention result{g.ndata().get("dx"), {}};
  (result.dx * random(result.dx.sizes())).sum().backward();
  for (const at::Tensor& leaf : leaves) {
    result.gradients.push_back(leaf.grad().defined() ? leaf.grad() : at::zeros_like(leaf));
  }
  return result;
}

TEST(SendAndRecv, GivesTheTutorialsNaiveAndBuiltInAttentionEqualOutputsAndGradients) {
  const auto naive = [](MessageGraph& g, const at::Tensor& edges) {
    g.send_and_recv(edges, {message_func}, {reduce_func});
  };
  for (const NamedGraph& named : graph_zoo()) {
    const std::int64_t num_edges = named.graph.num_edges();
    for (const at::Tensor& edges : {at::arange(num_edges, at::kLong), half_of(num_edges), numbers({})}) {
      SCOPED_TRACE(named.name + ", edges " + std::to_string(edges.numel()));

      const Attention expected = run_attention(named.graph, edges, naive);
      const Attention actual = run_attention(named.graph, edges, propagate_attention);

      expect_near(actual.dx, expected.dx, 1e-12);
      for (std::size_t i = 0; i < 3; ++i) expect_near(actual.gradients[i], expected.gradients[i], 1e-12);
    }
  }
}

TEST(SendAndRecv, NumbersNodesAndEdgesLikeTheTutorial) {
  const MessageGraph g{make_pair_graph({9, 10})};

  expect_equal(g.nodes(kEncoder), at::arange(0, 9, at::kLong));
  expect_equal(g.nodes(kDecoder), at::arange(9, 19, at::kLong));
  expect_equal(g.edges(kEncoderEncoder), at::arange(0, 81, at::kLong));
  expect_equal(g.edges(kEncoderDecoder), at::arange(81, 171, at::kLong));
  expect_equal(g.edges(kDecoderDecoder), at::arange(171, 226, at::kLong));
}

TEST(UpdateAll, HasGradientsThatMatchFiniteDifferences) {
  const std::vector<std::int64_t> lengths = {2, 0, 3, 1};
  const Graph graph({{"from", 3}, {"to", 4}}, {{"edges", "from", "to", prefix(3, lengths)}});
  at::manual_seed(3);
  const std::vector<at::Tensor> inputs = {random({7, kHeads, kHeadSize}), random({7, kHeads, kHeadSize}),
                                          random({6, kHeads, 1}), random({7, kHeads, kHeadSize})};
  const std::vector<BuiltinMessage> messages = {
      u_mul_e("k", "score", "m"), u_add_v("k", "q", "m"),     u_sub_v("k", "q", "m"),
      v_div_u("q", "k", "m"),     e_div_u("score", "k", "m"), v_mul_e("q", "score", "m"),
      u_dot_v("k", "q", "m"),     copy_u("k", "m"),           copy_e("score", "m")};
  for (const BuiltinMessage& message : messages) {
    for (const BuiltinReduction& reduction : {sum("m", "out"), mean("m", "out"), max("m", "out"), min("m", "out")}) {
      SCOPED_TRACE(fmt::format("{}, reduction {}", builtin_name(message), static_cast<int>(reduction.kind)));
      expect_gradients_match(
          [&](const std::vector<at::Tensor>& x) {
            MessageGraph g(graph);
            g.ndata().set("k", x[0]);
            g.ndata().set("q", x[1]);
            g.edata().set("score", x[2]);
            g.update_all({message}, {reduction});
            return g.ndata().get("out");
          },
          {inputs[0], inputs[1], inputs[2]});
    }
  }
  expect_gradients_match(
      [&](const std::vector<at::Tensor>& x) {
        MessageGraph g(graph);
        g.ndata().set("k", x[0]);
        g.ndata().set("q", x[1]);
        g.ndata().set("v", x[2]);
        g.ndata().set("dx", x[2]);
        g.send_and_recv(numbers({0, 1, 4}), {message_func}, {reduce_func});
        return g.ndata().get("dx");
      },
      {inputs[0], inputs[1], inputs[3]});
}

TEST(UpdateAll, GivesTheSameBitsInEachRunWithTwoThreads) {
  const int threads_before = at::get_num_threads();
  at::set_num_threads(2);
  const Graph graph{random_relation(400, 400, 20, /*seed=*/3)};
  const at::Tensor edges = at::arange(graph.num_edges(), at::kLong);

  const Attention first = run_attention(graph, edges, propagate_attention);
  for (int repeat = 0; repeat < 3; ++repeat) {
    const Attention again = run_attention(graph, edges, propagate_attention);
    expect_equal(again.dx, first.dx);
    for (std::size_t i = 0; i < 3; ++i) expect_equal(again.gradients[i], first.gradients[i]);
  }
  at::set_num_threads(threads_before);
}

}  // namespace
}  // namespace edgewise
