// SPDX-License-Identifier: Apache-2.0
#include "edgewise/nn/message_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>

#include <cmath>
#include <string>
#include <string_view>

namespace edgewise {
namespace {

void exponentiate_bounded(MessageGraph& graph, const at::Tensor& edges, double scale, double bound) {
  const auto exponentiate = [=](const EdgeBatch& batch) {
    return Columns{{"score", at::clamp(batch.data("score") * scale, -bound, bound).exp()}};
  };
  graph.apply_edges(EdgeFunction(exponentiate), edges);
}

/// Writes exp(scale · (score - maximum score into the destination)), which cannot overflow and gives the same weights.
void exponentiate(MessageGraph& graph, const at::Tensor& edges, double scale) {
  graph.send_and_recv(edges, {copy_e("score", "score")}, {max("score", "largest")});
  const auto subtract_and_exponentiate = [scale](const EdgeBatch& batch) {
    const at::Tensor below_largest = batch.data("score") - batch.destination("largest").detach();
    return Columns{{"score", (below_largest * scale).exp()}};
  };
  graph.apply_edges(EdgeFunction(subtract_and_exponentiate), edges);
}

/// Applies dropout to the weights of values. Returns the name of their edge column.
std::string drop_weights(MessageGraph& graph, const at::Tensor& edges, const MessageAttentionOptions& options) {
  if (options.dropout == 0.0) return "score";
  const auto drop = [&options](const EdgeBatch& batch) {
    return Columns{{"weight", dropout(batch.data("score"), options.dropout, options.dropout_key)}};
  };
  graph.apply_edges(EdgeFunction(drop), edges);
  return "weight";
}

/// Writes clamp(scale · <q of the destination, k of the source>) + bias to "score": [E, H, 1].
EdgeFunction biased_score(const MessageAttentionOptions& options, const DistanceBias& bias) {
  return [=](const EdgeBatch& edges) {
    at::Tensor score = (edges.destination("q") * edges.source("k")).sum(-1, /*keepdim=*/true) * options.scale;
    if (options.clamp) score = at::clamp(score, -*options.clamp, *options.clamp);
    const at::Tensor distance_E = edges.destination("position") - edges.source("position");
    return Columns{{"score", score + bias(distance_E).unsqueeze(-1).to(score.scalar_type())}};
  };
}

void erase_if_present(MessageGraph& graph, std::string_view column) {
  if (graph.ndata().has(column)) graph.ndata().erase(column);
}

/// Multiplies "q" of the edges' destinations by ln(edges into the node).
void scale_queries(MessageGraph& graph, const at::Tensor& edges) {
  const auto one = [](const EdgeBatch& batch) {
    return Columns{{"one", at::ones_like(batch.source("k").narrow(1, 0, 1).narrow(2, 0, 1))}};
  };
  const auto scale = [](const NodeBatch& nodes) {
    return Columns{{"q", nodes.data("q") * nodes.data("degree").log()}};
  };
  erase_if_present(graph, "degree");
  graph.apply_edges(EdgeFunction(one), edges);
  graph.send_and_recv(edges, {copy_e("one", "one")}, {sum("one", "degree")}, scale);
}

}  // namespace

EdgeFunction additive_score(const at::Tensor& vector_HK) {
  return [vector_HK](const EdgeBatch& edges) {
    const at::Tensor hidden_EHK = (edges.destination("q") + edges.source("k")).tanh();
    return Columns{{"score", (vector_HK * hidden_EHK).sum(-1, /*keepdim=*/true)}};
  };
}

void propagate_attention(MessageGraph& graph, const at::Tensor& edges, const Message& score,
                         const MessageAttentionOptions& options) {
  for (const char* column : {"wv", "z", "largest"}) erase_if_present(graph, column);
  graph.apply_edges(score, edges);
  if (options.clamp) {
    exponentiate_bounded(graph, edges, options.scale, *options.clamp);
  } else {
    exponentiate(graph, edges, options.scale);
  }
  const std::string weight = drop_weights(graph, edges, options);
  graph.send_and_recv(edges, {u_mul_e("v", weight, "wv"), copy_e("score", "score")},
                      {sum("wv", "wv"), sum("score", "z")});
}

void propagate_attention(MessageGraph& graph, const at::Tensor& edges, const MultiHeadAttention& attention, Pass& pass,
                         const DistanceBias& bias) {
  MessageAttentionOptions options;
  options.clamp = attention.options.clamp;
  if (pass.is_training() && attention.options.dropout > 0.0) {
    options.dropout = attention.options.dropout;
    options.dropout_key = pass.next_key();
  }
  if (attention.options.score == ScoreKind::kAdditive) {
    return propagate_attention(graph, edges, additive_score(attention.score_vector), options);
  }
  if (attention.options.log_scale) scale_queries(graph, edges);
  options.scale = 1.0 / std::sqrt(static_cast<double>(attention.options.head_size));
  if (bias) {
    const EdgeFunction score = biased_score(options, bias);
    options.scale = 1.0;
    options.clamp.reset();
    return propagate_attention(graph, edges, score, options);
  }
  propagate_attention(graph, edges, u_dot_v("k", "q", "score"), options);
}

at::Tensor compute_averages(const NodeBatch& nodes) {
  const at::Tensor z = nodes.data("z");
  return nodes.data("wv") / at::where(z == 0, at::ones_like(z), z);
}

}  // namespace edgewise
