// SPDX-License-Identifier: Apache-2.0
// The Universal Transformer by message passing, as in the graph tutorial: filter_nodes and filter_edges select the
// active nodes and the edges into them.
#include <ATen/TensorOperators.h>
#include <ATen/ops/logical_not.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <string>
#include <vector>

#include "edgewise/models/layer_stacks.h"
#include "edgewise/models/universal_transformer.h"
#include "edgewise/nn/message_attention.h"

namespace edgewise {
namespace {

std::vector<std::int64_t> to_vector(const at::Tensor& tensor) {
  const at::Tensor values = tensor.contiguous();
  return {values.const_data_ptr<std::int64_t>(), values.const_data_ptr<std::int64_t>() + values.numel()};
}

at::Tensor is_active(const NodeBatch& nodes) { return nodes.data("active"); }
at::Tensor is_halted(const NodeBatch& nodes) { return at::logical_not(nodes.data("active")); }

/// Selects the edges into active nodes; with HaltedKeys::kDropped, only those from active nodes.
EdgePredicate leads_to_active(HaltedKeys halted_keys) {
  return [halted_keys](const EdgeBatch& edges) {
    const at::Tensor into_active = edges.destination("active");
    return halted_keys == HaltedKeys::kDropped ? into_active & edges.source("active") : into_active;
  };
}

/// Computes "q", "k" and "v" of a self-attention from "x".
NodeFunction project(const MultiHeadAttention& attention, const Sublayer& sublayer) {
  return [&attention, &sublayer](const NodeBatch& nodes) {
    return attention.get(sublayer.prepare_input(nodes.data("x"))).columns();
  };
}

/// Computes "k", "v" and, with a convolution, "input" of nodes that have just halted, from their last states. Later
/// steps leave these columns as they are.
template <class Layer>
NodeFunction freeze(const UniversalSide<Layer>& side) {
  return [&side](const NodeBatch& nodes) {
    const at::Tensor x = nodes.data("x");
    const Layer& layer = side.layer;
    Columns columns =
        layer.self_attention.get(layer.self_sublayer.prepare_input(x), AttentionFields::kKeyValue).columns();
    if (side.convolution.is_on()) columns["input"] = layer.feed_forward_sublayer.prepare_input(x);
    return columns;
  };
}

/// Convolves "input" of the active nodes as a sum of messages from their neighbours.
void convolve(MessageGraph& graph, const DepthwiseConvolution& convolution, const at::Tensor& edges) {
  const auto weight_index = [&convolution](const EdgeBatch& batch) {
    return batch.sources() - batch.destinations() + convolution.window.before;
  };
  const at::Tensor near = graph.filter_edges(
      [&](const EdgeBatch& batch) {
        const at::Tensor index_E = weight_index(batch);
        return (index_E >= 0) & (index_E < convolution.window.width()) & batch.destination("active");
      },
      edges);
  const auto weigh = [&](const EdgeBatch& batch) {
    return Columns{{"weighted", convolution.weight_WM.index_select(0, weight_index(batch)) * batch.source("input")}};
  };
  graph.send_and_recv(near, {EdgeFunction(weigh)}, {sum("weighted", "input")});
}

/// Returns both in the type of x, because a column has one type.
Columns to_columns(const NodeState& state) {
  return {{"x", state.x_TM}, {"input", state.input_TM.to(state.x_TM.scalar_type())}};
}

template <class Layer>
NodeFunction apply_feed_forward(const Layer& layer, Pass& pass) {
  return [&layer, &pass](const NodeBatch& nodes) {
    const NodeState state = {nodes.data("x"), pass.cast(nodes.data("input"))};
    return Columns{{"x", layer.apply_feed_forward(state, Norm(), pass).x_TM}};
  };
}

}  // namespace

/// The steps of one side.
struct UniversalTransformer::MessageSteps {
  at::Tensor nodes;
  at::Tensor edges;  // self-attention edges
  std::int64_t max_steps;
  bool is_adaptive;
  NodeFunction finish_self_attention;
  std::function<void(const at::Tensor& active)> attend_encoder = {};  // cross-attention; decoder only
};

NodeFunction UniversalTransformer::step_forward(Pass& pass) const {
  return [this, &pass](const NodeBatch& nodes) {
    const at::Tensor x = nodes.data("x");
    std::vector<std::int64_t> mirrored;
    if (options_.mirror_positions) mirrored = to_vector(nodes.data("mirror"));
    const at::Tensor coordinates = positions_(to_vector(nodes.data("pos")), x.options(), mirrored) +
                                   positions_(to_vector(nodes.data("step")), x.options());
    at::Tensor input = x + coordinates;
    if (options_.universal.input_injection) {
      input = input + (nodes.data("step") > 0).to(x.scalar_type()).unsqueeze(-1) * nodes.data("token");
    }
    return Columns{{"x", pass.dropout(input, options_.dropout.embedding)}, {"step", nodes.data("step") + 1}};
  };
}

NodeFunction UniversalTransformer::halt_and_accum(const HaltingUnit& halting, bool is_last) const {
  return [this, &halting, is_last](const NodeBatch& nodes) {
    const at::Tensor p = halting(nodes.data("x")).unsqueeze(-1);
    const at::Tensor sum_p = nodes.data("sum_p") + p.detach();
    const at::Tensor stays_active =
        is_last ? at::zeros_like(sum_p, at::kBool) : sum_p < 1.0 - options_.universal.epsilon;
    const at::Tensor r = nodes.data("r");
    return Columns{{"p", p},
                   {"sum_p", sum_p},
                   {"r", at::where(stays_active, r - p, r)},
                   {"s", nodes.data("s") + at::where(stays_active, p, r) * nodes.data("x")},
                   {"active", stays_active.squeeze(-1)}};
  };
}

template <class Layer>
void UniversalTransformer::run_steps_by_messages(MessageGraph& graph, const UniversalSide<Layer>& side,
                                                 const MessageSteps& steps, Pass& pass) const {
  const Layer& layer = side.layer;
  const HaltedKeys halted_keys = options_.universal.halted_keys;
  for (std::int64_t step = 0; step < steps.max_steps; ++step) {
    const at::Tensor active = graph.filter_nodes(is_active, steps.nodes);
    if (active.numel() == 0) break;
    const at::Tensor edges = graph.filter_edges(leads_to_active(halted_keys), steps.edges);
    update_graph(graph, edges,
                 {{step_forward(pass), active}, {project(layer.self_attention, layer.self_sublayer), active}},
                 {{steps.finish_self_attention, active}}, attend_by_messages(layer.self_attention, pass));
    if (steps.attend_encoder) steps.attend_encoder(active);
    if (side.convolution.is_on()) convolve(graph, side.convolution, steps.edges);
    graph.apply_nodes(apply_feed_forward(layer, pass), active);
    if (!steps.is_adaptive) continue;

    graph.apply_nodes(halt_and_accum(side.halting, step + 1 == steps.max_steps), active);
    if (halted_keys == HaltedKeys::kFrozen) graph.apply_nodes(freeze(side), graph.filter_nodes(is_halted, active));
  }
  Frame& frame = graph.ndata();
  frame.set("x", steps.nodes, side.norm(frame.get(steps.is_adaptive ? "s" : "x", steps.nodes)));
}

void UniversalTransformer::set_initial_columns(MessageGraph& graph, const Batch& batch, Pass& pass) const {
  Frame& frame = graph.ndata();
  const at::Tensor encoder_x = vocabulary_.input_embedding(batch.input_tokens, options_.dropout, pass);
  const at::TensorOptions type = encoder_x.options().requires_grad(false);
  const std::int64_t count = graph.graph().num_nodes();
  const at::Tensor decoder_x = vocabulary_.output_embedding(batch.output_tokens, options_.dropout, pass);
  std::vector<std::string> columns = {"x"};
  if (options_.universal.input_injection) columns.emplace_back("token");
  for (const std::string& column : columns) {
    frame.set(column, graph.nodes(kEncoder), encoder_x);
    frame.set(column, graph.nodes(kDecoder), decoder_x);
  }
  frame.set("pos", graph.nodes(kEncoder), at::tensor(batch.input_positions));
  frame.set("pos", graph.nodes(kDecoder), at::tensor(batch.output_positions));
  if (options_.mirror_positions) {
    frame.set("mirror", graph.nodes(kEncoder), at::tensor(mirrored_positions(batch)));
    frame.set("mirror", graph.nodes(kDecoder), at::tensor(batch.output_positions));
  }
  frame.set("s", at::zeros({count, options_.size}, type));  // weighted sum of the states so far
  frame.set("p", at::zeros({count, 1}, type));              // halting probability
  frame.set("r", at::ones({count, 1}, type));               // remainder
  frame.set("sum_p", at::zeros({count, 1}, at::kDouble));   // sum of the halting probabilities so far
  frame.set("step", at::zeros({count}, at::kLong));
  frame.set("active", at::ones({count}, at::kBool));
}

void UniversalTransformer::encode_by_messages(MessageGraph& graph, Pass& pass) const {
  const EncoderLayer& layer = encoder_.layer;
  run_steps_by_messages(
      graph, encoder_,
      {.nodes = graph.nodes(kEncoder),
       .edges = graph.edges(kEncoderEncoder),
       .max_steps = options_.encoder_layers,
       .is_adaptive = encoder_adapts(options_.universal.adaptive),
       .finish_self_attention =
           [&](const NodeBatch& nodes) {
             return to_columns(layer.finish_attention(nodes.data("x"), compute_averages(nodes), pass));
           }},
      pass);
}

void UniversalTransformer::decode_by_messages(MessageGraph& graph, Pass& pass) const {
  const DecoderLayer& layer = decoder_.layer;
  const at::Tensor encoder_nodes = graph.nodes(kEncoder);
  const at::Tensor cross_edges = graph.edges(kEncoderDecoder);
  const auto project_cross = [&layer](AttentionFields fields) {
    return
        [&layer, fields](const NodeBatch& nodes) { return layer.project_cross_qkv(nodes.data("x"), fields).columns(); };
  };
  const auto finish_cross_attention = [&](const NodeBatch& nodes) {
    return to_columns(layer.finish_cross_attention(nodes.data("x"), compute_averages(nodes), pass));
  };
  const auto attend_encoder = [&](const at::Tensor& active) {
    const at::Tensor edges =
        graph.filter_edges([](const EdgeBatch& e) { return e.destination("active"); }, cross_edges);
    update_graph(
        graph, edges,
        {{project_cross(AttentionFields::kQuery), active}, {project_cross(AttentionFields::kKeyValue), encoder_nodes}},
        {{finish_cross_attention, active}}, attend_by_messages(layer.cross_attention, pass));
  };
  run_steps_by_messages(
      graph, decoder_,
      {.nodes = graph.nodes(kDecoder),
       .edges = graph.edges(kDecoderDecoder),
       .max_steps = options_.decoder_layers,
       .is_adaptive = decoder_adapts(options_.universal.adaptive),
       .finish_self_attention =
           [&](const NodeBatch& nodes) {
             return Columns{{"x", layer.finish_self_attention(nodes.data("x"), compute_averages(nodes), pass)}};
           },
       .attend_encoder = attend_encoder},
      pass);
}

at::Tensor UniversalTransformer::forward_by_messages(MessageGraph& graph, const Batch& batch, Pass& pass) const {
  set_initial_columns(graph, batch, pass);
  encode_by_messages(graph, pass);
  decode_by_messages(graph, pass);
  return vocabulary_.output_projection(graph.ndata().get("x", graph.nodes(kDecoder)));
}

}  // namespace edgewise
