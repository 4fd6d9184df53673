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

/// "q", "k" and "v" of a self-attention, or some of them.
NodeFunction project(const MultiHeadAttention& attention, const Sublayer& sublayer, AttentionFields fields) {
  return [&attention, &sublayer, fields](const NodeBatch& nodes) {
    return attention.get(sublayer.before(nodes.data("x")), fields).columns();
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

/// What one side's loop over steps is made of.
struct UniversalTransformer::Side {
  at::Tensor nodes;
  at::Tensor edges;  // of self-attention
  const MultiHeadAttention& attention;
  const Sublayer& sublayer;
  const HaltingUnit& halting;
  const Norm& norm;
  std::int64_t most_steps;
  bool adapts;
  const NeighbourFilter& filter;
  const Sublayer& feed_forward_sublayer;
  NodeFunction after_self;
  std::function<void(const at::Tensor& active)> attend_more = {};  // the layer's other attention, if there is one
  NodeFunction feed;                                               // "x" and "read" to "x"
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
NodeFunction UniversalTransformer::show_halted(const Side& side, std::int64_t step, Pass& pass) const {
  return [this, &side, step, &pass](const NodeBatch& nodes) {
    at::Tensor x = nodes.data("x");
    if (options_.universal.halted_keys == HaltedKeys::kRecomputed) {
      const std::int64_t next = step + 1;
      x = pass.dropout(x + positions_(numbers(nodes.data("pos")), x.scalar_type()) +
                           positions_(std::span(&next, 1), x.scalar_type()),
                       options_.dropout.embedding);
    }
    Columns columns = side.attention.get(side.sublayer.before(x), AttentionFields::kKeyValue).columns();
    if (side.filter.is_on()) columns["read"] = side.feed_forward_sublayer.before(x);
    return columns;
  };
}

void UniversalTransformer::think_by_messages(MessageGraph& graph, const Side& side, Pass& pass) const {
  const HaltedKeys halted_keys = options_.universal.halted_keys;
  for (std::int64_t step = 0; step < side.most_steps; ++step) {
    const at::Tensor active = graph.filter_nodes(is_active, side.nodes);
    if (active.numel() == 0) break;
    const at::Tensor edges = graph.filter_edges(seen_by_active(halted_keys), side.edges);
    update_graph(
        graph, edges,
        {{step_forward(pass), active}, {project(side.attention, side.sublayer, AttentionFields::kAll), active}},
        {{side.after_self, active}}, along_edges(side.attention, pass));
    if (side.attend_more) side.attend_more(active);
    if (side.filter.is_on()) filter_neighbours(graph, side.filter, side.edges);
    graph.apply_nodes(side.feed, active);
    if (!side.adapts) continue;

    graph.apply_nodes(halt_and_accum(side.halting, step + 1 == side.most_steps), active);
    const bool is_refreshed = halted_keys == HaltedKeys::kRecomputed;
    if (is_refreshed || halted_keys == HaltedKeys::kFrozen) {
      graph.apply_nodes(show_halted(side, step, pass),
                        graph.filter_nodes(is_halted, is_refreshed ? side.nodes : active));
    }
  }
  Frame& frame = graph.ndata();
  frame.set("x", side.nodes, side.norm(frame.get(side.adapts ? "s" : "x", side.nodes)));
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
      graph,
      {.nodes = graph.nodes(kEncoder),
       .edges = graph.edges(kEncoderEncoder),
       .attention = layer.self_attention,
       .sublayer = layer.attention_sublayer,
       .halting = encoder_.halting,
       .norm = encoder_.norm,
       .most_steps = options_.encoder_layers,
       .adapts = encoder_adapts(options_.universal.adaptive),
       .filter = encoder_.filter,
       .feed_forward_sublayer = layer.feed_forward_sublayer,
       .after_self =
           [&](const NodeBatch& nodes) { return columns_of(layer.attended(nodes.data("x"), averaged(nodes), pass)); },
       .feed = feed(layer, pass)},
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
  think_by_messages(graph,
                    {.nodes = graph.nodes(kDecoder),
                     .edges = graph.edges(kDecoderDecoder),
                     .attention = layer.self_attention,
                     .sublayer = layer.self_sublayer,
                     .halting = decoder_.halting,
                     .norm = decoder_.norm,
                     .most_steps = options_.decoder_layers,
                     .adapts = decoder_adapts(options_.universal.adaptive),
                     .filter = decoder_.filter,
                     .feed_forward_sublayer = layer.feed_forward_sublayer,
                     .after_self =
                         [&](const NodeBatch& nodes) {
                           return Columns{{"x", layer.after_self(nodes.data("x"), averaged(nodes), pass)}};
                         },
                     .attend_more = look_at_encoder,
                     .feed = feed(layer, pass)},
                    pass);
}

at::Tensor UniversalTransformer::forward_by_messages(MessageGraph& graph, const Batch& batch, Pass& pass) const {
  start_thinking(graph, batch);
  encode_by_messages(graph, pass);
  decode_by_messages(graph, pass);
  return words_.generator(graph.ndata().get("x", graph.nodes(kDecoder)));
}

}  // namespace edgewise
