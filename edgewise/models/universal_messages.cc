// SPDX-License-Identifier: Apache-2.0
// The Universal Transformer by message passing, as the graph tutorial writes it: filter_nodes and filter_edges find who
// still thinks.
#include <ATen/TensorOperators.h>
#include <ATen/ops/logical_not.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "edgewise/models/universal_transformer.h"
#include "edgewise/models/update_graph.h"
#include "edgewise/nn/message_attention.h"

namespace edgewise {
namespace {

std::vector<std::int64_t> numbers(const at::Tensor& tensor) {
  const at::Tensor whole = tensor.contiguous();
  return {whole.const_data_ptr<std::int64_t>(), whole.const_data_ptr<std::int64_t>() + whole.numel()};
}

at::Tensor is_active(const NodeBatch& nodes) { return nodes.data("active"); }
at::Tensor is_halted(const NodeBatch& nodes) { return at::logical_not(nodes.data("active")); }

/// Edges into active nodes; from active nodes only, where halted ones are no keys.
EdgePredicate seen_by_active(HaltedKeys halted_keys) {
  return [halted_keys](const EdgeBatch& edges) {
    const at::Tensor into_active = edges.destination("active");
    return halted_keys == HaltedKeys::kDropped ? into_active & edges.source("active") : into_active;
  };
}

/// "q", "k" and "v" of a self-attention.
NodeFunction project(const MultiHeadAttention& attention, const Sublayer& sublayer) {
  return [&attention, &sublayer](const NodeBatch& nodes) {
    return attention.get(sublayer.before(nodes.data("x"))).columns();
  };
}

/// A filter over neighbours as a sum of messages: to "read" of active nodes from "read" of those around them.
void filter_neighbours(MessageGraph& graph, const NeighbourFilter& filter, const at::Tensor& edges) {
  const auto tap = [&filter](const EdgeBatch& batch) {
    return batch.sources() - batch.destinations() + filter.reach.before;
  };
  const at::Tensor near = graph.filter_edges(
      [&](const EdgeBatch& batch) {
        const at::Tensor tap_E = tap(batch);
        return (tap_E >= 0) & (tap_E < filter.reach.width()) & batch.destination("active");
      },
      edges);
  const auto weigh = [&](const EdgeBatch& batch) {
    return Columns{{"weighed", filter.weight_WM.index_select(0, tap(batch)) * batch.source("read")}};
  };
  graph.send_and_recv(near, {EdgeFunction(weigh)}, {sum("weighed", "read")});
}

Columns columns_of(const NodeState& state) { return {{"x", state.x_TM}, {"read", state.read_TM}}; }

template <class Layer>
NodeFunction feed(const Layer& layer, Pass& pass) {
  return [&layer, &pass](const NodeBatch& nodes) {
    return Columns{{"x", layer.fed({nodes.data("x"), nodes.data("read")}, Norm(), pass).x_TM}};
  };
}

AttentionStep along_edges(const MultiHeadAttention& attention, Pass& pass) {
  return [&attention, &pass](MessageGraph& graph, const at::Tensor& edges) {
    propagate_attention(graph, edges, attention, pass);
  };
}

}  // namespace

/// The loop over steps of one side.
struct UniversalTransformer::Steps {
  at::Tensor nodes;
  at::Tensor edges;  // of self-attention
  std::int64_t most;
  bool adapt;
  NodeFunction after_self;
  std::function<void(const at::Tensor& active)> attend_more = {};  // the layer's other attention, if there is one
};

NodeFunction UniversalTransformer::step_forward(Pass& pass) const {
  return [this, &pass](const NodeBatch& nodes) {
    const at::Tensor x = nodes.data("x");
    const at::Tensor signal = positions_(numbers(nodes.data("pos")), x.scalar_type()) +
                              positions_(numbers(nodes.data("step")), x.scalar_type());
    return Columns{{"x", pass.dropout(x + signal, options_.dropout.embedding)}, {"step", nodes.data("step") + 1}};
  };
}

NodeFunction UniversalTransformer::halt_and_accum(const HaltingUnit& halting, bool is_last) const {
  return [this, &halting, is_last](const NodeBatch& nodes) {
    const at::Tensor p = halting(nodes.data("x")).unsqueeze(-1);
    const at::Tensor sum_p = nodes.data("sum_p") + p;
    const at::Tensor goes_on = is_last ? at::zeros_like(sum_p, at::kBool) : sum_p < 1.0 - options_.universal.epsilon;
    const at::Tensor r = nodes.data("r");
    return Columns{{"p", p},
                   {"sum_p", sum_p},
                   {"r", at::where(goes_on, 1.0 - sum_p, r)},
                   {"s", nodes.data("s") + at::where(goes_on, p, r) * nodes.data("x")},
                   {"active", goes_on.squeeze(-1)}};
  };
}

/// What other nodes see of halted ones, where that is not what their last step left there.
template <class Layer>
NodeFunction UniversalTransformer::show_halted(const UniversalSide<Layer>& side, std::int64_t step, Pass& pass) const {
  return [this, &side, step, &pass](const NodeBatch& nodes) {
    at::Tensor x = nodes.data("x");
    if (options_.universal.halted_keys == HaltedKeys::kRecomputed) {
      const std::int64_t next = step + 1;
      x = pass.dropout(x + positions_(numbers(nodes.data("pos")), x.scalar_type()) +
                           positions_(std::span(&next, 1), x.scalar_type()),
                       options_.dropout.embedding);
    }
    const Projections shown =
        side.layer.self_attention.get(side.layer.self_sublayer.before(x), AttentionFields::kKeyValue);
    Columns columns = shown.columns();
    if (side.filter.is_on()) columns["read"] = side.layer.feed_forward_sublayer.before(x);
    return columns;
  };
}

template <class Layer>
void UniversalTransformer::think_by_messages(MessageGraph& graph, const UniversalSide<Layer>& side, const Steps& steps,
                                             Pass& pass) const {
  const Layer& layer = side.layer;
  const HaltedKeys halted_keys = options_.universal.halted_keys;
  for (std::int64_t step = 0; step < steps.most; ++step) {
    const at::Tensor active = graph.filter_nodes(is_active, steps.nodes);
    if (active.numel() == 0) break;
    const at::Tensor edges = graph.filter_edges(seen_by_active(halted_keys), steps.edges);
    update_graph(graph, edges,
                 {{step_forward(pass), active}, {project(layer.self_attention, layer.self_sublayer), active}},
                 {{steps.after_self, active}}, along_edges(layer.self_attention, pass));
    if (steps.attend_more) steps.attend_more(active);
    if (side.filter.is_on()) filter_neighbours(graph, side.filter, steps.edges);
    graph.apply_nodes(feed(layer, pass), active);
    if (!steps.adapt) continue;

    graph.apply_nodes(halt_and_accum(side.halting, step + 1 == steps.most), active);
    const bool is_refreshed = halted_keys == HaltedKeys::kRecomputed;
    if (is_refreshed || halted_keys == HaltedKeys::kFrozen) {
      graph.apply_nodes(show_halted(side, step, pass),
                        graph.filter_nodes(is_halted, is_refreshed ? steps.nodes : active));
    }
  }
  Frame& frame = graph.ndata();
  frame.set("x", steps.nodes, side.norm(frame.get(steps.adapt ? "s" : "x", steps.nodes)));
}

void UniversalTransformer::start_thinking(MessageGraph& graph, const Batch& batch) const {
  Frame& frame = graph.ndata();
  const at::Tensor encoder_x = words_.input_embedding(batch.input_tokens);
  const at::TensorOptions type = encoder_x.options().requires_grad(false);
  const std::int64_t count = graph.graph().num_nodes();
  frame.set("x", graph.nodes(kEncoder), encoder_x);
  frame.set("x", graph.nodes(kDecoder), words_.output_embedding(batch.output_tokens));
  frame.set("pos", graph.nodes(kEncoder), at::tensor(batch.input_positions));
  frame.set("pos", graph.nodes(kDecoder), at::tensor(batch.output_positions));
  frame.set("s", at::zeros({count, options_.size}, type));  // the state so far, a weighted sum
  frame.set("p", at::zeros({count, 1}, type));              // the probability of halting
  frame.set("r", at::ones({count, 1}, type));               // the remainder
  frame.set("sum_p", at::zeros({count, 1}, type));
  frame.set("step", at::zeros({count}, at::kLong));
  frame.set("active", at::ones({count}, at::kBool));
}

void UniversalTransformer::encode_by_messages(MessageGraph& graph, Pass& pass) const {
  const EncoderLayer& layer = encoder_.layer;
  think_by_messages(
      graph, encoder_,
      {.nodes = graph.nodes(kEncoder),
       .edges = graph.edges(kEncoderEncoder),
       .most = options_.encoder_layers,
       .adapt = encoder_adapts(options_.universal.adaptive),
       .after_self =
           [&](const NodeBatch& nodes) { return columns_of(layer.attended(nodes.data("x"), averaged(nodes), pass)); }},
      pass);
}

void UniversalTransformer::decode_by_messages(MessageGraph& graph, Pass& pass) const {
  const DecoderLayer& layer = decoder_.layer;
  const at::Tensor encoder_nodes = graph.nodes(kEncoder);
  const at::Tensor cross_edges = graph.edges(kEncoderDecoder);
  const auto before_cross = [&layer](AttentionFields fields) {
    return [&layer, fields](const NodeBatch& nodes) { return layer.before_cross(nodes.data("x"), fields).columns(); };
  };
  const auto look_at_encoder = [&](const at::Tensor& active) {
    const at::Tensor edges =
        graph.filter_edges([](const EdgeBatch& e) { return e.destination("active"); }, cross_edges);
    update_graph(
        graph, edges,
        {{before_cross(AttentionFields::kQuery), active}, {before_cross(AttentionFields::kKeyValue), encoder_nodes}},
        {{[&](const NodeBatch& nodes) { return columns_of(layer.attended(nodes.data("x"), averaged(nodes), pass)); },
          active}},
        along_edges(layer.cross_attention, pass));
  };
  think_by_messages(graph, decoder_,
                    {.nodes = graph.nodes(kDecoder),
                     .edges = graph.edges(kDecoderDecoder),
                     .most = options_.decoder_layers,
                     .adapt = decoder_adapts(options_.universal.adaptive),
                     .after_self =
                         [&](const NodeBatch& nodes) {
                           return Columns{{"x", layer.after_self(nodes.data("x"), averaged(nodes), pass)}};
                         },
                     .attend_more = look_at_encoder},
                    pass);
}

at::Tensor UniversalTransformer::forward_by_messages(MessageGraph& graph, const Batch& batch, Pass& pass) const {
  start_thinking(graph, batch);
  encode_by_messages(graph, pass);
  decode_by_messages(graph, pass);
  return words_.generator(graph.ndata().get("x", graph.nodes(kDecoder)));
}

}  // namespace edgewise
