// SPDX-License-Identifier: Apache-2.0
#include "edgewise/models/universal_transformer.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>

#include <vector>

#include "edgewise/graph/relation.h"
#include "edgewise/graph/relation_ops.h"
#include "edgewise/nn/sublayer.h"
#include "edgewise/ops/rows.h"

namespace edgewise {
namespace {

/// A depthwise convolution of feed-forward's inputs over the active nodes of one side. The convolution uses the input
/// of a halted neighbour's last state. If it is off, it returns its inputs. Shapes: A = active nodes, M = size of a
/// node's state.
class UniversalConvolution {
 public:
  /// The arguments must outlive this object. The rows of `relation` determine which nodes are neighbours; `sublayer` is
  /// the sublayer around feed-forward.
  UniversalConvolution(const Relation& relation, const DepthwiseConvolution& convolution, const Sublayer& sublayer)
      : relation_(&relation), convolution_(&convolution), sublayer_(&sublayer) {}

  /// Convolves the inputs of the active nodes. `halted` lists the halted nodes in the order in which they halted.
  at::Tensor operator()(const std::vector<NodeIndex>& active, const std::vector<NodeIndex>& halted,
                        const at::Tensor& input_AM) const {
    if (!convolution_->is_on()) return input_AM;
    const std::vector<NodeIndex> row_of_node = rows_by_node(active, halted);
    std::vector<NodeIndex> rows = find_neighbours(*relation_, active, active, convolution_->window);
    for (NodeIndex& row : rows) {
      if (row != kNoNode) row = row_of_node[static_cast<std::size_t>(row)];
    }
    return (*convolution_)(frozen_.defined() ? at::cat({input_AM, frozen_}) : input_AM, rows);
  }

  /// Halts rows `halting` of the active nodes, whose states after the step are `x_AM`.
  void halt(const std::vector<NodeIndex>& halting, const at::Tensor& x_AM, const Pass& pass) {
    if (convolution_->is_on()) append_rows(frozen_, sublayer_->begin(take_rows(x_AM, halting), pass).input_TM);
  }

 private:
  const Relation* relation_;
  const DepthwiseConvolution* convolution_;
  const Sublayer* sublayer_;
  at::Tensor frozen_;  // inputs of the halted nodes' last states, in the order in which the nodes halted
};

Norm final_norm(const TransformerOptions& options) { return options.final_norm ? Norm(options) : Norm(); }

DepthwiseConvolution make_convolution(const TransformerOptions& options, NeighbourWindow window) {
  const bool is_on = options.universal.transition == Transition::kSeparableConvolution;
  return is_on ? DepthwiseConvolution(options.size, window) : DepthwiseConvolution();
}

PonderHistogram make_histogram(const std::vector<std::int64_t>& steps) {
  PonderHistogram histogram;
  for (const std::int64_t count : steps) ++histogram[count];
  return histogram;
}

/// The steps of the encoder's or the decoder's layer, in which self-attention and convolution also read halted nodes.
template <class Layer>
class UniversalSteps : public AdaptiveLayer {
 public:
  /// `relation` connects the nodes of the side.
  UniversalSteps(const UniversalSide<Layer>& side, const Relation& relation, HaltedKeys halted_keys)
      : layer_(&side.layer),
        attention_(relation, side.layer.self_attention, side.layer.self_sublayer, halted_keys),
        convolution_(relation, side.convolution, side.layer.feed_forward_sublayer) {}

  at::Tensor step(const std::vector<NodeIndex>& active, const at::Tensor& x_AM, std::int64_t /*step*/,
                  Pass& pass) override {
    const NodeState state = layer_->begin(x_AM, pass);
    const at::Tensor average_AHV = attention_(active, state.input_TM, pass);
    NodeState attended = finish_attention(active, state.x_TM, average_AHV, pass);
    attended.input_TM = convolution_(active, attention_.halted(), attended.input_TM);
    return layer_->apply_feed_forward(attended, Norm(), pass).x_TM;
  }

  void halt(const std::vector<NodeIndex>& active, const std::vector<NodeIndex>& halting, const at::Tensor& x_AM,
            const Pass& pass) override {
    attention_.halt(active, halting, x_AM, pass);
    convolution_.halt(halting, x_AM, pass);
  }

 protected:
  /// Returns the state before feed-forward, from the averages of self-attention.
  virtual NodeState finish_attention(const std::vector<NodeIndex>& active, const at::Tensor& x_AM,
                                     const at::Tensor& average_AHV, Pass& pass) const = 0;

  const Layer* layer_;

 private:
  AdaptiveAttention attention_;
  UniversalConvolution convolution_;
};

class UniversalEncoderSteps : public UniversalSteps<EncoderLayer> {
  using UniversalSteps::UniversalSteps;

  NodeState finish_attention(const std::vector<NodeIndex>& /*active*/, const at::Tensor& x_AM,
                             const at::Tensor& average_AHV, Pass& pass) const override {
    return layer_->finish_attention(x_AM, average_AHV, pass);
  }
};

class UniversalDecoderSteps : public UniversalSteps<DecoderLayer> {
 public:
  UniversalDecoderSteps(const UniversalDecoder& decoder, const Relation& decoder_decoder,
                        const Relation& encoder_decoder, const at::Tensor& encoded_SM, HaltedKeys halted_keys)
      : UniversalSteps(decoder, decoder_decoder, halted_keys),
        encoder_decoder_(&encoder_decoder),
        encoder_key_value_(decoder.layer.project_cross_qkv(encoded_SM, AttentionFields::kKeyValue)) {}

 private:
  NodeState finish_attention(const std::vector<NodeIndex>& active, const at::Tensor& x_AM,
                             const at::Tensor& average_AHV, Pass& pass) const override {
    const bool has_all_nodes = std::ssize(active) == encoder_decoder_->num_destinations();
    const Relation edges = has_all_nodes ? *encoder_decoder_ : select_rows(*encoder_decoder_, active);
    return layer_->attend_encoder(edges, x_AM, layer_->self_attention.get_o(average_AHV), encoder_key_value_, pass);
  }

  const Relation* encoder_decoder_;
  Projections encoder_key_value_;
};

}  // namespace

template <class Layer>
UniversalSide<Layer>::UniversalSide(const TransformerOptions& options, NeighbourWindow window, bool is_adaptive,
                                    RandomStream& random)
    : layer(options, random),
      convolution(make_convolution(options, window)),
      halting(is_adaptive ? HaltingUnit(options, options.universal.halting_bias, random) : HaltingUnit()),
      norm(final_norm(options)) {}

UniversalTransformer::UniversalTransformer(const TransformerOptions& options, std::uint64_t seed)
    : options_(check_options(options)), positions_(PositionFormula::of_model(options)) {
  RandomStream random(seed);
  vocabulary_ = VocabularyLayers(options, seed, random);
  const UniversalOptions& universal = options.universal;
  encoder_ = UniversalEncoder(options, NeighbourWindow::centred(universal.filter_width),
                              encoder_adapts(universal.adaptive), random);
  decoder_ = UniversalDecoder(options, NeighbourWindow::causal(universal.filter_width),
                              decoder_adapts(universal.adaptive), random);
}

template <class Layer>
AdaptiveResult UniversalTransformer::run_side(std::int64_t max_steps, bool is_adaptive, const at::Tensor& x_NM,
                                              const CoordinateEmbeddings& coordinates, const UniversalSide<Layer>& side,
                                              AdaptiveLayer& layer, Pass& pass) const {
  AdaptiveResult result = run_adaptive_steps({.max_steps = max_steps,
                                              .is_adaptive = is_adaptive,
                                              .epsilon = options_.universal.epsilon,
                                              .dropout = options_.dropout.embedding,
                                              .injects_input = options_.universal.input_injection},
                                             x_NM, coordinates, side.halting, layer, pass);
  result.state_NM = side.norm(result.state_NM, pass.type_of(result.state_NM));
  return result;
}

AdaptiveResult UniversalTransformer::encode(const Batch& batch, Pass& pass) const {
  const at::Tensor x_SM = vocabulary_.input_embedding(batch.input_tokens, options_.dropout, pass);
  std::vector<std::int64_t> mirrored;
  if (options_.mirror_positions) mirrored = mirrored_positions(batch);
  const CoordinateEmbeddings coordinates(positions_, batch.input_positions, x_SM.options(), mirrored);
  UniversalEncoderSteps layer(encoder_, batch.graph.relation(kEncoderEncoder), options_.universal.halted_keys);
  return run_side(options_.encoder_layers, encoder_adapts(options_.universal.adaptive), x_SM, coordinates, encoder_,
                  layer, pass);
}

AdaptiveResult UniversalTransformer::decode(const Batch& batch, const at::Tensor& encoded_SM, Pass& pass) const {
  const at::Tensor x_DM = vocabulary_.output_embedding(batch.output_tokens, options_.dropout, pass);
  const CoordinateEmbeddings coordinates(positions_, batch.output_positions, x_DM.options());
  UniversalDecoderSteps layer(decoder_, batch.graph.relation(kDecoderDecoder), batch.graph.relation(kEncoderDecoder),
                              encoded_SM, options_.universal.halted_keys);
  return run_decoder_steps(x_DM, coordinates, layer, pass);
}

AdaptiveResult UniversalTransformer::run_decoder_steps(const at::Tensor& x_DM, const CoordinateEmbeddings& coordinates,
                                                       AdaptiveLayer& layer, Pass& pass) const {
  return run_side(options_.decoder_layers, decoder_adapts(options_.universal.adaptive), x_DM, coordinates, decoder_,
                  layer, pass);
}

at::Tensor UniversalTransformer::forward(const Batch& batch, Pass& pass) const {
  return vocabulary_.output_projection(decode(batch, encode(batch, pass).state_NM, pass).state_NM);
}

/// Returns the mean ponder cost of the adaptive sides' nodes, times ponder_weight and the number of labels; undefined
/// without an adaptive side.
at::Tensor UniversalTransformer::weighted_ponder_cost(const AdaptiveResult& encoded, const AdaptiveResult& decoded,
                                                      std::int64_t num_labels) const {
  at::Tensor sum;
  std::int64_t nodes = 0;
  for (const AdaptiveResult* side : {&encoded, &decoded}) {
    if (!side->ponder_cost.defined()) continue;
    sum = sum.defined() ? sum + side->ponder_cost : side->ponder_cost;
    nodes += std::ssize(side->steps);
  }
  if (nodes == 0) return {};
  return sum * (options_.universal.ponder_weight * static_cast<double>(num_labels) / static_cast<double>(nodes));
}

BatchLoss UniversalTransformer::loss(const Batch& batch, const LossOptions& options, const AddedLosses& added,
                                     Pass& pass) const {
  const AdaptiveResult encoded = encode(batch, pass);
  const AdaptiveResult decoded = decode(batch, encoded.state_NM, pass);
  BatchLoss loss = vocabulary_.loss(decoded.state_NM, batch.labels, added.consistency, options);
  const at::Tensor cost = weighted_ponder_cost(encoded, decoded, loss.counts.tokens);
  if (cost.defined()) loss.objective = loss.objective + cost;
  loss.encoder_histogram = make_histogram(encoded.steps);
  loss.decoder_histogram = make_histogram(decoded.steps);
  loss.counts.encoder = count_steps(loss.encoder_histogram);
  loss.counts.decoder = count_steps(loss.decoder_histogram);
  return loss;
}

}  // namespace edgewise
