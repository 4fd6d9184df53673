// SPDX-License-Identifier: Apache-2.0
#include "edgewise/models/universal_transformer.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/tensor.h>

#include <utility>

#include "edgewise/graph/relation_ops.h"
#include "edgewise/models/thinking_filter.h"

namespace edgewise {
namespace {

Norm final_norm(const TransformerOptions& options) {
  return options.final_norm ? Norm(options.size, options.norm, options.norm_epsilon) : Norm();
}

NeighbourFilter filter_of(const TransformerOptions& options, Reach reach) {
  const bool is_on = options.universal.transition == Transition::kSeparableConvolution;
  return is_on ? NeighbourFilter(options.size, reach) : NeighbourFilter();
}

/// A layer in which nodes see those of their own side, halted ones too.
class SelfSeeing : public ThinkingLayer {
 public:
  /// `relation` is of the side's nodes.
  template <class Layer>
  SelfSeeing(const UniversalSide<Layer>& side, const Relation& relation, HaltedKeys halted_keys,
             const StepSignals& signals)
      : attention_(relation, side.layer.self_attention, side.layer.self_sublayer, halted_keys, signals),
        filter_(relation, side.filter, side.layer.feed_forward_sublayer) {}

  void halt(const std::vector<NodeIndex>& active, const std::vector<NodeIndex>& leaving, const at::Tensor& x_AM,
            const Pass& pass) override {
    attention_.halt(active, leaving, x_AM, pass);
    filter_.halt(leaving, x_AM, pass);
  }

 protected:
  ThinkingAttention attention_;
  ThinkingFilter filter_;
};

class EncoderThinking : public SelfSeeing {
 public:
  EncoderThinking(const UniversalEncoder& encoder, const Relation& relation, HaltedKeys halted_keys,
                  const StepSignals& signals)
      : SelfSeeing(encoder, relation, halted_keys, signals), layer_(&encoder.layer) {}

  at::Tensor step(const std::vector<NodeIndex>& active, const at::Tensor& x_AM, std::int64_t step,
                  Pass& pass) override {
    const NodeState state = layer_->begin(x_AM, pass);
    const at::Tensor heard_AHV = attention_(active, state.read_TM, step, pass);
    NodeState attended = layer_->attended(state.x_TM, heard_AHV, pass);
    attended.read_TM = filter_(active, attention_.halted(), attended.read_TM);
    return layer_->fed(attended, Norm(), pass).x_TM;
  }

 private:
  const EncoderLayer* layer_;
};

class DecoderThinking : public SelfSeeing {
 public:
  DecoderThinking(const UniversalDecoder& decoder, const Relation& decoder_decoder, const Relation& encoder_decoder,
                  const at::Tensor& encoded_SM, HaltedKeys halted_keys, const StepSignals& signals)
      : SelfSeeing(decoder, decoder_decoder, halted_keys, signals),
        layer_(&decoder.layer),
        encoder_decoder_(&encoder_decoder),
        memory_(decoder.layer.before_cross(encoded_SM, AttentionFields::kKeyValue)) {}

  at::Tensor step(const std::vector<NodeIndex>& active, const at::Tensor& x_AM, std::int64_t step,
                  Pass& pass) override {
    const NodeState state = layer_->begin(x_AM, pass);
    const at::Tensor heard_AHV = attention_(active, state.read_TM, step, pass);
    const bool is_whole = std::ssize(active) == encoder_decoder_->num_destinations();
    const Relation seen = is_whole ? *encoder_decoder_ : select_rows(*encoder_decoder_, active);
    NodeState attended = layer_->attended(seen, state.x_TM, heard_AHV, memory_, pass);
    attended.read_TM = filter_(active, attention_.halted(), attended.read_TM);
    return layer_->fed(attended, Norm(), pass).x_TM;
  }

 private:
  const DecoderLayer* layer_;
  const Relation* encoder_decoder_;
  Projections memory_;  // the same in all steps
};

}  // namespace

template <class Layer>
UniversalSide<Layer>::UniversalSide(const TransformerOptions& options, Reach reach, RandomStream& random)
    : layer(options, random), filter(filter_of(options, reach)), halting(options, random), norm(final_norm(options)) {}

UniversalTransformer::UniversalTransformer(const TransformerOptions& options, std::uint64_t seed)
    : options_(checked(options)), positions_(options.size, options.positions) {
  RandomStream random(seed);
  words_ = WordEnds(options, seed, random);
  encoder_ = UniversalEncoder(options, Reach::around(options.universal.filter_width), random);
  decoder_ = UniversalDecoder(options, Reach::up_to(options.universal.filter_width), random);
}

template <class Layer>
Thought UniversalTransformer::think_and_norm(std::int64_t most_steps, bool adapts, const at::Tensor& x_NM,
                                             const StepSignals& signals, const UniversalSide<Layer>& side,
                                             ThinkingLayer& layer, Pass& pass) const {
  Thought thought = think({.most_steps = most_steps,
                           .adapts = adapts,
                           .epsilon = options_.universal.epsilon,
                           .dropout = options_.dropout.embedding},
                          x_NM, signals, side.halting, layer, pass);
  thought.state_NM = side.norm(thought.state_NM, pass.type_of(thought.state_NM));
  return thought;
}

Thought UniversalTransformer::encode(const Batch& batch, Pass& pass) const {
  const at::Tensor x_SM = words_.input_embedding(batch.input_tokens);
  const StepSignals signals(positions_, batch.input_positions, x_SM.scalar_type());
  EncoderThinking layer(encoder_, batch.graph.relation(kEncoderEncoder), options_.universal.halted_keys, signals);
  return think_and_norm(options_.encoder_layers, encoder_adapts(options_.universal.adaptive), x_SM, signals, encoder_,
                        layer, pass);
}

Thought UniversalTransformer::decode(const Batch& batch, const at::Tensor& encoded_SM, Pass& pass) const {
  const at::Tensor x_DM = words_.output_embedding(batch.output_tokens);
  const StepSignals signals(positions_, batch.output_positions, x_DM.scalar_type());
  DecoderThinking layer(decoder_, batch.graph.relation(kDecoderDecoder), batch.graph.relation(kEncoderDecoder),
                        encoded_SM, options_.universal.halted_keys, signals);
  return think_of_output(x_DM, signals, layer, pass);
}

Thought UniversalTransformer::think_of_output(const at::Tensor& x_DM, const StepSignals& signals, ThinkingLayer& layer,
                                              Pass& pass) const {
  return think_and_norm(options_.decoder_layers, decoder_adapts(options_.universal.adaptive), x_DM, signals, decoder_,
                        layer, pass);
}

at::Tensor UniversalTransformer::forward(const Batch& batch, Pass& pass) const {
  return words_.generator(decode(batch, encode(batch, pass).state_NM, pass).state_NM);
}

/// The mean over the nodes that adapt, times its weight, for each label.
at::Tensor UniversalTransformer::ponder_cost(const Thought& encoded, const Thought& decoded,
                                             std::int64_t num_labels) const {
  at::Tensor sum;
  std::int64_t nodes = 0;
  for (const Thought* thought : {&encoded, &decoded}) {
    if (!thought->ponder_cost.defined()) continue;
    sum = sum.defined() ? sum + thought->ponder_cost : thought->ponder_cost;
    nodes += std::ssize(thought->steps);
  }
  if (nodes == 0) return {};
  return sum * (options_.universal.ponder_weight * static_cast<double>(num_labels) / static_cast<double>(nodes));
}

UniversalTransformer::Loss UniversalTransformer::loss(const Batch& batch, const LossOptions& options, double rdrop,
                                                      Pass& pass) const {
  Thought encoded = encode(batch, pass);
  Thought decoded = decode(batch, encoded.state_NM, pass);
  const at::Tensor labels = at::tensor(batch.labels);
  const auto& [weight, bias] = words_.generator.weights();
  Loss loss;
  loss.of_words = rdrop > 0 ? projected_rdrop_loss(decoded.state_NM, weight, bias, labels, rdrop, options)
                            : projected_loss(decoded.state_NM, weight, bias, labels, options);
  const at::Tensor cost = ponder_cost(encoded, decoded, std::ssize(batch.labels));
  loss.sum = cost.defined() ? loss.of_words.loss_sum + cost : loss.of_words.loss_sum;
  loss.encoder_steps = std::move(encoded.steps);
  loss.decoder_steps = std::move(decoded.steps);
  return loss;
}

}  // namespace edgewise
