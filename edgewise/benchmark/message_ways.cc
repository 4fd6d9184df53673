// SPDX-License-Identifier: Apache-2.0
#include "edgewise/benchmark/message_ways.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/exp2.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/softmax.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/message/message_graph.h"
#include "edgewise/ops/attend.h"

namespace edgewise {
namespace {

constexpr double kTutorialClamp = 5.0;  // bound of scores in the tutorial

using Inputs = std::vector<at::Tensor>;
using Function = MessageComputation::Function;

void set_inputs(MessageGraph& graph, const Inputs& inputs) {
  graph.ndata().set("q", inputs[0]);
  graph.ndata().set("k", inputs[1]);
  graph.ndata().set("v", inputs[2]);
}

double root_of_head_size(const Inputs& inputs) { return std::sqrt(static_cast<double>(inputs[0].size(-1))); }

at::Tensor attend_by_built_ins(MessageGraph& graph, const Inputs& inputs) {
  set_inputs(graph, inputs);
  graph.apply_edges(u_dot_v("k", "q", "score"));
  graph.edata().set("score", graph.edata().get("score") / root_of_head_size(inputs));
  graph.edge_softmax("score", "weight");
  graph.update_all({u_mul_e("v", "weight", "wv")}, {sum("wv", "wv")});
  return graph.ndata().get("wv");
}

EdgeFunction dot_of_ends() {
  return [](const EdgeBatch& edges) -> Columns {
    return {{"score", (edges.source("k") * edges.destination("q")).sum(-1, /*keepdim=*/true)}};
  };
}

EdgeFunction scaled_exp(double scale) {
  return [=](const EdgeBatch& edges) -> Columns {
    return {{"score", at::exp((edges.data("score") / scale).clamp(-kTutorialClamp, kTutorialClamp))}};
  };
}

at::Tensor attend_by_tutorial(MessageGraph& graph, const Inputs& inputs) {
  set_inputs(graph, inputs);
  graph.apply_edges(dot_of_ends());
  graph.apply_edges(scaled_exp(root_of_head_size(inputs)));
  graph.update_all({u_mul_e("v", "score", "wv"), copy_e("score", "score")}, {sum("wv", "wv"), sum("score", "z")});
  return graph.ndata().get("wv") / graph.ndata().get("z");
}

Columns send_score_and_value(const EdgeBatch& edges) {
  return {{"score", (edges.source("k") * edges.destination("q")).sum(-1, /*keepdim=*/true)}, {"v", edges.source("v")}};
}

NodeFunction average_values(double scale) {
  return [=](const NodeBatch& nodes) -> Columns {
    const at::Tensor weight = at::softmax(nodes.mailbox("score") / scale, /*dim=*/1);
    return {{"wv", (weight * nodes.mailbox("v")).sum(1)}};
  };
}

at::Tensor attend_by_functions(MessageGraph& graph, const Inputs& inputs) {
  set_inputs(graph, inputs);
  graph.update_all({EdgeFunction(send_score_and_value)}, {average_values(root_of_head_size(inputs))});
  return graph.ndata().get("wv");
}

/// 2^-1 to 2^-8, for eight heads.
Score alibi(std::int64_t heads) {
  const at::Tensor slope_H = at::exp2(at::arange(1, heads + 1) * (-8.0 / static_cast<double>(heads)));
  return Score::product() - Score::of_heads(slope_H) * abs(Score::distance());
}

constexpr std::int64_t kBuckets =
    32;  // table of T5's encoder: half for each direction, half of these for distances 0 to 7
constexpr double kMaxDistance = 128;

Score t5_bias(const at::Tensor& table_TH) {
  const double per_direction = kBuckets / 2.0;
  const double exact = per_direction / 2;
  const Score distance = abs(Score::distance());
  const Score share = log(distance / exact) / std::log(kMaxDistance / exact);
  const Score range = min(exact + floor(share * (per_direction - exact)), per_direction - 1);
  const Score bucket = where(Score::distance() < 0, per_direction, 0) + where(distance < exact, distance, range);
  return Score::product() + Score::lookup(table_TH, bucket);
}

class Maker {
 public:
  explicit Maker(const AttentionWorkload& workload)
      : workload_(workload), graph_(std::make_shared<MessageGraph>(Graph(workload.relation))) {}

  MessageComputation make(MessageWay way) {
    switch (way) {
      case MessageWay::kBuiltIn:
        return attention(on_graph(attend_by_built_ins), attend_with({}));
      case MessageWay::kTutorial:
        return attention(on_graph(attend_by_tutorial), attend_with({.clamp = kTutorialClamp}));
      case MessageWay::kFunctions:
        return attention(on_graph(attend_by_functions), attend_with({}));
      case MessageWay::kAttend:
        return attention(attend_with({}), attend_with({}));
      case MessageWay::kSoftCap:
        return scored([](const Inputs&) { return 50 * tanh(Score::product() / 50); });
      case MessageWay::kAlibi:
        return scored([heads = workload_.heads](const Inputs&) { return alibi(heads); });
      case MessageWay::kTable: {
        MessageComputation made = scored([](const Inputs& inputs) { return t5_bias(inputs[3]); });
        made.inputs.push_back(normal({kBuckets, workload_.heads}));
        return made;
      }
      case MessageWay::kSum:
        return sum_of_weighted_rows();
      case MessageWay::kMean:
        return mean_of_rows();
      case MessageWay::kMaximum:
        return maximum_of_rows();
      case MessageWay::kDot:
        return dot_of_rows();
      case MessageWay::kMessages:
      case MessageWay::kFused:
        break;
    }
    fail("make_message_computation: way is {}, needs one over a relation", enum_name(way));
  }

 private:
  using OnGraph = at::Tensor (*)(MessageGraph&, const Inputs&);

  Function on_graph(OnGraph compute) const {
    return [graph = graph_, compute](const Inputs& inputs) { return compute(*graph, inputs); };
  }

  Function attend_with(const AttentionOptions& options) const {
    return [&relation = workload_.relation, options](const Inputs& inputs) {
      return attend(relation, inputs[0], inputs[1], inputs[2], options);
    };
  }

  MessageComputation attention(Function compute, Function define) const {
    const AttentionInputs inputs = random_attention_inputs(workload_);
    return {{inputs.query_NHK, inputs.key_NHK, inputs.value_NHK},
            std::move(compute),
            std::move(define),
            attention_traffic(workload_, sizeof(float)),
            {}};
  }

  MessageComputation scored(std::function<Score(const Inputs&)> score) const {
    const Function attend_with_score = [&relation = workload_.relation,
                                        score = std::move(score)](const Inputs& inputs) {
      return attend(relation, inputs[0], inputs[1], inputs[2], {.score = score(inputs)});
    };
    return attention(attend_with_score, attend_with_score);
  }

  at::Tensor normal(at::IntArrayRef shape) { return at::randn(shape, generator_, at::kFloat); }
  at::Tensor node_rows() { return normal({workload_.relation.num_sources(), workload_.heads, workload_.head_size}); }
  at::Tensor edge_weights() {
    return at::rand({workload_.relation.num_edges(), workload_.heads, 1}, generator_, at::kFloat);
  }

  /// Bytes of a row for each node, of a number for each edge and head, and of the rows that all edges read.
  double nodes_bytes() const { return row_bytes() * static_cast<double>(workload_.relation.num_sources()); }
  double weights_bytes() const {
    return sizeof(float) * static_cast<double>(workload_.relation.num_edges() * workload_.heads);
  }
  double read_bytes() const { return row_bytes() * static_cast<double>(workload_.relation.num_edges()); }
  double row_bytes() const { return sizeof(float) * static_cast<double>(workload_.heads * workload_.head_size); }

  /// `nodes` and `weights` are the tensors of rows of nodes and of numbers of edges that a pass reads or writes, and
  /// `reads` how often it reads a row for each edge, where the row of the other end stays in cache.
  struct Tensors {
    double nodes, weights, reads;
  };
  void set_traffic(MessageComputation& made, const Tensors& forward, const Tensors& backward) const {
    const double relation = relation_bytes(workload_.relation);
    const auto bytes = [&](const Tensors& pass) {
      return pass.nodes * nodes_bytes() + pass.weights * weights_bytes() + relation;
    };
    // A pass that reads rows of edges reads one tensor of nodes in that way.
    const auto with_rows = [&](const Tensors& pass) {
      return bytes(pass) + pass.reads * (read_bytes() - nodes_bytes());
    };
    made.bytes = {.forward = bytes(forward), .total = bytes(forward) + bytes(backward)};
    made.row_bytes = {.forward = with_rows(forward), .total = with_rows(forward) + with_rows(backward)};
  }

  MessageComputation sum_of_weighted_rows() {
    MessageComputation made = single(
        [](MessageGraph& graph, const Inputs& inputs) {
          graph.ndata().set("x", inputs[0]);
          graph.edata().set("w", inputs[1]);
          graph.update_all({u_mul_e("x", "w", "m")}, {sum("m", "out")});
          return graph.ndata().get("out");
        },
        {node_rows(), edge_weights()});
    // Backward reads the gradient, x and w, and writes the gradients of x and w; both read a row for each edge.
    set_traffic(made, {.nodes = 2, .weights = 1, .reads = 1}, {.nodes = 3, .weights = 2, .reads = 2});
    return made;
  }

  MessageComputation mean_of_rows() {
    MessageComputation made = single(
        [](MessageGraph& graph, const Inputs& inputs) {
          graph.ndata().set("x", inputs[0]);
          graph.update_all({copy_u("x", "m")}, {mean("m", "out")});
          return graph.ndata().get("out");
        },
        {node_rows()});
    set_traffic(made, {.nodes = 2, .weights = 0, .reads = 1}, {.nodes = 2, .weights = 0, .reads = 1});
    return made;
  }

  MessageComputation maximum_of_rows() {
    MessageComputation made = single(
        [](MessageGraph& graph, const Inputs& inputs) {
          graph.ndata().set("x", inputs[0]);
          graph.update_all({copy_u("x", "m")}, {max("m", "out")});
          return graph.ndata().get("out");
        },
        {node_rows()});
    // Forward also writes the chosen edge of each number, which backward reads.
    set_traffic(made, {.nodes = 3, .weights = 0, .reads = 1}, {.nodes = 3, .weights = 0, .reads = 0});
    return made;
  }

  MessageComputation dot_of_rows() {
    MessageComputation made = single(
        [](MessageGraph& graph, const Inputs& inputs) {
          graph.ndata().set("x", inputs[0]);
          graph.ndata().set("y", inputs[1]);
          graph.apply_edges(u_dot_v("x", "y", "out"));
          return graph.edata().get("out");
        },
        {node_rows(), node_rows()});
    set_traffic(made, {.nodes = 2, .weights = 1, .reads = 1}, {.nodes = 4, .weights = 1, .reads = 2});
    return made;
  }

  /// The definition of a single operation is the operation in fp64, whose kernel tests compare with plain loops.
  MessageComputation single(OnGraph compute, Inputs inputs) const {
    return {std::move(inputs), on_graph(compute), on_graph(compute), {}, {}};
  }

  const AttentionWorkload& workload_;
  std::shared_ptr<MessageGraph> graph_;
  at::Generator generator_ = at::detail::createCPUGenerator(/*seed_val=*/0);
};

}  // namespace

MessageComputation make_message_computation(MessageWay way, const AttentionWorkload& workload) {
  return Maker(workload).make(way);
}

}  // namespace edgewise
