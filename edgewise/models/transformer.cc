// SPDX-License-Identifier: Apache-2.0
#include "edgewise/models/transformer.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Reduction.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>

#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/graph/relation_ops.h"
#include "edgewise/nn/message_attention.h"
#include "edgewise/ops/device_copies.h"

namespace edgewise {
namespace {

/// Returns for each layer the numbers of the edges of a relation of the graph that the layer's relation has, too.
std::vector<at::Tensor> edges_of_layers(const MessageGraph& graph, std::string_view name,
                                        const LayerRelations& relations, std::int64_t num_layers) {
  const Relation& all = graph.graph().relation(name);
  std::vector<at::Tensor> edges(static_cast<std::size_t>(num_layers), graph.edges(name));
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const bool has_all = relations.of_layer(i) == all;
    if (!has_all) edges[i] = edges[i].index_select(0, at::tensor(find_edges_of(relations.of_layer(i), all)));
  }
  return edges;
}

}  // namespace

Transformer::Transformer(const TransformerOptions& options, std::uint64_t seed)
    : options_(check_options(options)),
      encoder_patterns_(options.encoder_patterns()),
      decoder_patterns_(options.decoder_patterns()) {
  RandomStream random(seed);
  vocabulary_ = VocabularyLayers(options, seed, random);
  encoder_ = Encoder(options, random);
  decoder_ = Decoder(options, random);
  RandomStream exits_random(seed, /*stream=*/3);
  for (std::size_t i = 0; i < options.exits.layers.size(); ++i) exits_.emplace_back(options, /*bias=*/0, exits_random);
  if (has_formula(options.positions)) {
    input_positions_ = output_positions_ = SidePositions(PositionEncodings(PositionFormula::of_model(options)));
  } else if (options.positions == PositionKind::kLearned) {
    RandomStream positions_random(seed, /*stream=*/2);
    const auto make_table = [&] {
      return SidePositions(options.max_positions, options.size, options.embedding_init, positions_random);
    };
    input_positions_ = make_table();
    output_positions_ = make_table();
  }
}

at::Tensor Transformer::embed(const Embedding& embedding, const SidePositions& side_positions,
                              std::span<const std::int64_t> tokens, std::span<const std::int64_t> positions, Pass& pass,
                              std::span<const std::int64_t> mirrored) const {
  check(tokens.size() == positions.size(), "Transformer: {} tokens have {} positions, needs one each", tokens.size(),
        positions.size());
  return embedding(tokens, side_positions, positions, options_.dropout, pass, mirrored);
}

at::Tensor Transformer::embed_input(const Batch& batch, Pass& pass) const {
  std::vector<std::int64_t> mirrored;
  if (options_.has_mirrored_vectors()) mirrored = mirrored_positions(batch);
  return embed(vocabulary_.input_embedding, input_positions_, batch.input_tokens, batch.input_positions, pass,
               mirrored);
}

at::Tensor Transformer::embed_output(std::span<const std::int64_t> tokens, std::span<const std::int64_t> positions,
                                     Pass& pass) const {
  return embed(vocabulary_.output_embedding, output_positions_, tokens, positions, pass);
}

at::Tensor Transformer::compute_logits(const at::Tensor& state_DM) const {
  return vocabulary_.output_projection(state_DM);
}

at::Tensor Transformer::log_probabilities(const at::Tensor& state_DM) const {
  return at::log_softmax(compute_logits(state_DM), -1);
}

LayerRelations Transformer::encoder_relations(const Batch& batch) const {
  return {encoder_patterns_, batch.graph.relation(kEncoderEncoder), batch.input_lengths};
}

LayerRelations Transformer::decoder_relations(const Batch& batch) const {
  if (options_.has_ssru()) return LayerRelations(path_of(batch.graph.relation(kDecoderDecoder)));
  return {decoder_patterns_, batch.graph.relation(kDecoderDecoder), batch.output_lengths};
}

std::vector<std::int64_t> Transformer::source_positions(const Batch& batch) const {
  if (!options_.cross_distance) return {};
  return options_.mirror_positions ? mirrored_positions(batch) : batch.input_positions;
}

at::Tensor Transformer::encode(const Batch& batch, Pass& pass) const {
  return encoder_(encoder_relations(batch), embed_input(batch, pass), pass, batch.input_positions);
}

at::Tensor Transformer::decode(const Batch& batch, const at::Tensor& encoded_SM, Pass& pass) const {
  const std::array all = {options_.decoder_layers};
  return decode_at(all, batch, encoded_SM, pass).front();
}

std::vector<at::Tensor> Transformer::decode_at(std::span<const std::int64_t> depths, const Batch& batch,
                                               const at::Tensor& encoded_SM, Pass& pass,
                                               std::vector<at::Tensor>* before_norm) const {
  const LayerRelations relations = decoder_relations(batch);
  const std::vector<std::int64_t> sources = source_positions(batch);
  return decoder_.states_at(depths, {relations, batch.graph.relation(kEncoderDecoder), batch.output_positions, sources},
                            embed_output(batch.output_tokens, batch.output_positions, pass), encoded_SM, pass,
                            before_norm);
}

ExitedStates Transformer::decode_with_exits(const Batch& batch, const at::Tensor& encoded_SM, Pass& pass) const {
  const LayerRelations relations = decoder_relations(batch);
  at::Tensor x_DM = embed_output(batch.output_tokens, batch.output_positions, pass);
  const SelfPositions positions = decoder_.positions.of_nodes(batch.output_positions, x_DM.options());
  const SelfPositions between =
      decoder_.cross_positions.between(batch.output_positions, source_positions(batch), x_DM.device());
  const AttentionEdges cross_edges(batch.graph.relation(kEncoderDecoder), between);
  std::vector<double> thresholds;
  for (std::size_t i = 0; i < batch.output_lengths.size(); ++i) {
    for (std::int64_t node = 0; node < batch.output_lengths[i]; ++node) {
      const std::int64_t position = batch.output_positions[thresholds.size()];
      thresholds.push_back(options_.exits.threshold_at(position, batch.input_lengths[i]));
    }
  }
  std::vector<std::int64_t> last(thresholds.size(), options_.decoder_layers);
  const at::Tensor is_active_D1 = at::ones({std::ssize(last), 1}, at::kBool);
  auto* is_active = is_active_D1.mutable_data_ptr<bool>();
  auto exit = exits_.begin();
  for (std::size_t i = 0; i < decoder_.layers.size(); ++i) {
    const AttentionEdges self_edges(relations.of_layer(i), positions);
    const at::Tensor next_DM = decoder_.layers[i](self_edges, cross_edges, x_DM, encoded_SM, pass);
    x_DM = at::where(copy_to_device(is_active_D1, x_DM.device()), next_DM, x_DM);
    const auto layers = static_cast<std::int64_t>(i) + 1;
    if (exit == exits_.end() || options_.exits.layers[static_cast<std::size_t>(exit - exits_.begin())] != layers)
      continue;
    const std::vector<double> probability = read_numbers((*exit++)(x_DM));
    for (std::size_t node = 0; node < last.size(); ++node) {
      if (!is_active[node] || probability[node] < thresholds[node]) continue;
      is_active[node] = false;
      last[node] = layers;
    }
  }
  return {decoder_.norm(x_DM, pass.type_of(x_DM)), std::move(last)};
}

at::Tensor Transformer::forward(const Batch& batch, Pass& pass) const {
  return compute_logits(decode(batch, encode(batch, pass), pass));
}

BatchLoss Transformer::loss(const Batch& batch, const LossOptions& options, const AddedLosses& added,
                            Pass& pass) const {
  const auto& [consistency, guided] = added;
  const at::Tensor encoded_SM = encode(batch, pass);
  std::optional<GuidedHeads> heads;
  if (guided.weight > 0) heads.emplace(guided, batch, options_.decoder_layers);
  const std::vector<std::int64_t> depths = options_.exits.layers_and(options_.decoder_layers);
  BatchLoss loss = vocabulary_.weighted_loss(decode_at(depths, batch, encoded_SM, pass),
                                             options_.exits.loss_weights(depths), batch.labels, consistency, options);
  if (!heads) return loss;
  // Of two passes with SimCut, the first alone has a loss of its own. Its links are the first half.
  const std::span<const LinkedEdge> all = batch.linked_edges;
  const auto linked = consistency.counts_all_rows() ? all : all.first(all.size() / 2);
  loss.objective = loss.objective + guided_alignment_loss(heads->weights(), linked) * guided.weight;
  return loss;
}

BatchLoss Transformer::halting_loss(const Batch& batch, const LossOptions& options) const {
  std::vector<at::Tensor> states;
  std::vector<at::Tensor> best_tokens;
  {
    const at::NoGradGuard no_gradients;
    Pass pass = Pass::inference();
    const std::vector<std::int64_t> depths = options_.exits.layers_and(options_.decoder_layers);
    for (const at::Tensor& state_DM : decode_at(depths, batch, encode(batch, pass), pass, &states)) {
      best_tokens.push_back(vocabulary_.best_tokens(state_DM));
    }
  }
  const at::Device device = states.front().device();
  const at::Tensor is_counted_D = copy_to_device(at::tensor(batch.labels) != options.ignored, device);
  at::Tensor are_right_D = is_counted_D;
  BatchLoss all{.objective = {}, .counts = {.tokens = std::ssize(batch.labels)}};
  for (std::size_t i = 0; i < exits_.size(); ++i) {
    const at::Tensor halts_D = best_tokens[i] == best_tokens.back();
    const at::Tensor logit_D = exits_[i].logits(states[i]);
    const at::Tensor loss_D = at::softplus(logit_D) - logit_D.masked_fill(halts_D.logical_not(), 0);  // cross-entropy
    const at::Tensor loss = loss_D.masked_fill(is_counted_D.logical_not(), 0).sum();
    const at::Tensor is_right_D = (logit_D > 0) == halts_D;
    const auto numbers = [&](const at::Tensor& objective, const at::Tensor& right_D) {
      return at::stack({objective.detach().to(at::kDouble), (right_D & is_counted_D).sum().to(at::kDouble)});
    };
    all.exits.push_back(
        {.objective = loss.detach(), .counts = all.counts, .loss_and_correct = numbers(loss, is_right_D)});
    const at::Tensor share = loss / static_cast<double>(exits_.size());
    all.objective = all.objective.defined() ? all.objective + share : share;
    are_right_D = are_right_D & is_right_D;
    all.loss_and_correct = numbers(all.objective, are_right_D);
  }
  return all;
}

void Transformer::update_graph(MessageGraph& graph, const at::Tensor& edges, const std::vector<NodeUpdate>& pre,
                               const std::vector<NodeUpdate>& post) const {
  check(options_.score == ScoreKind::kDot,
        "update_graph: score is {}, needs dot; pass the layer's attention_func as the last argument",
        enum_name(options_.score));
  check(!options_.log_scale,
        "update_graph: log_scale is true, needs false; pass the layer's attention_func as the last argument");
  check(!has_score_bias(options_.positions),
        "update_graph: positions is {}, whose numbers are added to scores, needs another kind; pass the layer's "
        "attention_func as the last argument",
        enum_name(options_.positions));
  const std::int64_t head_size = options_.size / options_.heads;
  edgewise::update_graph(graph, edges, pre, post, [&](MessageGraph& g, const at::Tensor& attention_edges) {
    propagate_attention(g, attention_edges, u_dot_v("k", "q", "score"),
                        {.scale = 1.0 / std::sqrt(static_cast<double>(head_size)), .clamp = options_.clamp});
  });
}

void Transformer::encode_by_messages(MessageGraph& graph, const Batch& batch, Pass& pass) const {
  const at::Tensor nodes = graph.nodes(kEncoder);
  const std::vector<at::Tensor> edges =
      edges_of_layers(graph, kEncoderEncoder, encoder_relations(batch), options_.encoder_layers);
  for (std::int64_t i = 0; i < options_.encoder_layers; ++i) {
    edgewise::update_graph(graph, edges[static_cast<std::size_t>(i)], {{encoder_.pre_func(i), nodes}},
                           {{encoder_.post_func(i, pass), nodes}}, encoder_.attention_func(i, pass));
  }
}

void Transformer::decode_by_messages(MessageGraph& graph, const Batch& batch, Pass& pass) const {
  const at::Tensor encoder_nodes = graph.nodes(kEncoder);
  const at::Tensor nodes = graph.nodes(kDecoder);
  const std::vector<at::Tensor> self_edges =
      edges_of_layers(graph, kDecoderDecoder, decoder_relations(batch), options_.decoder_layers);
  const at::Tensor cross_edges = graph.edges(kEncoderDecoder);
  for (std::int64_t i = 0; i < options_.decoder_layers; ++i) {
    edgewise::update_graph(graph, self_edges[static_cast<std::size_t>(i)], {{decoder_.pre_func(i), nodes}},
                           {{decoder_.post_func(i, DecoderAttention::kSelf, pass), nodes}},
                           decoder_.attention_func(i, DecoderAttention::kSelf, pass));

    const NodeFunction query = decoder_.pre_func(i, AttentionFields::kQuery, DecoderAttention::kCross);
    const NodeFunction key_value = decoder_.pre_func(i, AttentionFields::kKeyValue, DecoderAttention::kCross);
    edgewise::update_graph(graph, cross_edges, {{query, nodes}, {key_value, encoder_nodes}},
                           {{decoder_.post_func(i, DecoderAttention::kCross, pass), nodes}},
                           decoder_.attention_func(i, DecoderAttention::kCross, pass));
  }
}

at::Tensor Transformer::forward_by_messages(MessageGraph& graph, const Batch& batch, Pass& pass) const {
  Frame& frame = graph.ndata();
  const auto set_columns = [&](const at::Tensor& nodes, const at::Tensor& x, const Columns& position_columns) {
    frame.set("x", nodes, x);
    for (const auto& [name, column] : position_columns) frame.set(name, nodes, column);
  };
  const at::Tensor input_SM = embed_input(batch, pass);
  set_columns(graph.nodes(kEncoder), input_SM, encoder_.position_columns(batch.input_positions, input_SM.options()));
  encode_by_messages(graph, batch, pass);
  if (options_.cross_distance) frame.set("position", graph.nodes(kEncoder), at::tensor(source_positions(batch)));
  const at::Tensor output_DM = embed_output(batch.output_tokens, batch.output_positions, pass);
  set_columns(graph.nodes(kDecoder), output_DM, decoder_.position_columns(batch.output_positions, output_DM.options()));
  decode_by_messages(graph, batch, pass);
  return compute_logits(frame.get("x", graph.nodes(kDecoder)));
}

}  // namespace edgewise
