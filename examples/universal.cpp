// SPDX-License-Identifier: Apache-2.0
// The last part of the graph tutorial, line by line: a Universal Transformer with adaptive computation time by message
// passing. filter_nodes and filter_edges select the active nodes and the edges into them. The model learns to sort
// letters.
//
//     build/examples/example_universal [STEPS]
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <utility>

#include "edgewise/base/threads.h"
#include "edgewise/data/batches.h"
#include "edgewise/data/corpus.h"
#include "edgewise/data/encode.h"
#include "edgewise/models/layer_stacks.h"
#include "edgewise/models/universal_transformer.h"
#include "edgewise/nn/message_attention.h"
#include "edgewise/ops/loss.h"
#include "edgewise/train/adam.h"
#include "edgewise/train/learning_rate_schedule.h"

using namespace edgewise;

constexpr std::int64_t kMaxSteps = 8;   // the tutorial's MAX_DEPTH
constexpr double kThreshold = 0.99;     // the tutorial's thres
constexpr double kPonderWeight = 0.01;  // the tutorial's act_loss_weight
constexpr LossOptions kLoss = {.smoothing = 0.0, .ignored = SpecialTokens().padding};

at::Tensor is_active(const NodeBatch& nodes) { return nodes.data("active"); }
at::Tensor is_halted(const NodeBatch& nodes) { return at::logical_not(nodes.data("active")); }
at::Tensor leads_to_active(const EdgeBatch& edges) { return edges.destination("active"); }

// The tutorial's model with the parameters of a UniversalTransformer, so that their results can be compared.
class UTransformer {
 public:
  explicit UTransformer(const UniversalTransformer& parameters) : model_(parameters) {}

  // Adds the encodings of position and step to the states, and increments the steps.
  NodeFunction step_forward() const {
    return [this](const NodeBatch& nodes) -> Columns {
      return {{"x", nodes.data("x") + encoding(nodes.data("pos")) + encoding(nodes.data("step"))},
              {"step", nodes.data("step") + 1}};
    };
  }

  NodeFunction halt_and_accum(const HaltingUnit& halt, bool end) const {
    return [&halt, end](const NodeBatch& nodes) -> Columns {
      const at::Tensor p = halt(nodes.data("x")).unsqueeze(-1);
      const at::Tensor sum_p = nodes.data("sum_p") + p;
      const at::Tensor active = (sum_p < kThreshold) & at::scalar_tensor(!end, at::kBool);
      const at::Tensor stays_active = active.to(p.scalar_type());
      const at::Tensor r = nodes.data("r") * (1 - stays_active) + (1 - sum_p) * stays_active;
      const at::Tensor s = nodes.data("s") + ((1 - stays_active) * r + stays_active * p) * nodes.data("x");
      return {{"p", p}, {"sum_p", sum_p}, {"r", r}, {"s", s}, {"active", active.squeeze(-1)}};
    };
  }

  // Returns the logits of the next tokens and the weighted loss of the remainders.
  std::pair<at::Tensor, at::Tensor> forward(MessageGraph& g, const Batch& batch) const {
    const at::Tensor encoder = g.nodes(kEncoder);
    const at::Tensor decoder = g.nodes(kDecoder);
    Pass pass = Pass::inference();

    // Embeddings and positions.
    g.ndata().set("x", encoder, model_.vocabulary_layers().input_embedding(batch.input_tokens));
    g.ndata().set("x", decoder, model_.vocabulary_layers().output_embedding(batch.output_tokens));
    g.ndata().set("pos", encoder, at::tensor(batch.input_positions));
    g.ndata().set("pos", decoder, at::tensor(batch.output_positions));

    // Columns before the first step.
    const std::int64_t n = g.graph().num_nodes();
    g.ndata().set("s", at::zeros({n, model_.options().size}));  // accumulated state
    g.ndata().set("p", at::zeros({n, 1}));                      // probability of halting
    g.ndata().set("r", at::ones({n, 1}));                       // remainder
    g.ndata().set("sum_p", at::zeros({n, 1}));                  // sum of the halting probabilities
    g.ndata().set("step", at::zeros({n}, at::kLong));
    g.ndata().set("active", at::ones({n}, at::kBool));

    const EncoderLayer& enc = model_.encoder().layer;
    for (std::int64_t step = 0; step < kMaxSteps; ++step) {
      const at::Tensor nodes = g.filter_nodes(is_active, encoder);
      if (nodes.numel() == 0) break;
      const at::Tensor edges = g.filter_edges(leads_to_active, g.edges(kEncoderEncoder));
      const bool end = step == kMaxSteps - 1;
      update_graph(g, edges, {{step_forward(), nodes}, {pre_func(enc), nodes}},
                   {{post_func(enc, pass), nodes}, {halt_and_accum(model_.encoder().halting, end), nodes}},
                   attend_by_messages(enc.self_attention, pass));
      // In the tutorial, halted nodes keep the keys and values of their last step. Edgewise computes keys and values
      // from their last states.
      g.apply_nodes(pre_func(enc), g.filter_nodes(is_halted, nodes));
    }
    g.ndata().set("x", encoder, model_.encoder().norm(g.ndata().get("s", encoder)));

    const DecoderLayer& dec = model_.decoder().layer;
    for (std::int64_t step = 0; step < kMaxSteps; ++step) {
      const at::Tensor nodes = g.filter_nodes(is_active, decoder);
      if (nodes.numel() == 0) break;
      const at::Tensor self_edges = g.filter_edges(leads_to_active, g.edges(kDecoderDecoder));
      update_graph(g, self_edges, {{step_forward(), nodes}, {pre_func(dec), nodes}}, {{post_func(dec, pass), nodes}},
                   attend_by_messages(dec.self_attention, pass));

      const at::Tensor cross_edges = g.filter_edges(leads_to_active, g.edges(kEncoderDecoder));
      const bool end = step == kMaxSteps - 1;
      update_graph(
          g, cross_edges,
          {{pre_cross(dec, AttentionFields::kQuery), nodes}, {pre_cross(dec, AttentionFields::kKeyValue), encoder}},
          {{post_cross(dec, pass), nodes}, {halt_and_accum(model_.decoder().halting, end), nodes}},
          attend_by_messages(dec.cross_attention, pass));
      g.apply_nodes(pre_func(dec), g.filter_nodes(is_halted, nodes));
    }
    g.ndata().set("x", decoder, model_.decoder().norm(g.ndata().get("s", decoder)));

    const at::Tensor act_loss = g.ndata().get("r").mean();
    return {model_.vocabulary_layers().output_projection(g.ndata().get("x", decoder)), act_loss * kPonderWeight};
  }

 private:
  at::Tensor encoding(const at::Tensor& numbers) const {
    const std::vector<std::int64_t> values(numbers.const_data_ptr<std::int64_t>(),
                                           numbers.const_data_ptr<std::int64_t>() + numbers.numel());
    return model_.positions()(values, at::kFloat);
  }

  static NodeFunction pre_func(const EncoderLayer& layer) {
    return [&layer](const NodeBatch& nodes) { return layer.project_qkv(nodes.data("x")).columns(); };
  }
  static NodeFunction pre_func(const DecoderLayer& layer) {
    return [&layer](const NodeBatch& nodes) { return layer.project_self_qkv(nodes.data("x")).columns(); };
  }
  static NodeFunction pre_cross(const DecoderLayer& layer, AttentionFields fields) {
    return
        [&layer, fields](const NodeBatch& nodes) { return layer.project_cross_qkv(nodes.data("x"), fields).columns(); };
  }
  static NodeFunction post_func(const EncoderLayer& layer, Pass& pass) {
    return [&](const NodeBatch& nodes) -> Columns {
      return {{"x", layer.finish_layer(nodes.data("x"), compute_averages(nodes), pass)}};
    };
  }
  static NodeFunction post_func(const DecoderLayer& layer, Pass& pass) {
    return [&](const NodeBatch& nodes) -> Columns {
      return {{"x", layer.finish_self_attention(nodes.data("x"), compute_averages(nodes), pass)}};
    };
  }
  static NodeFunction post_cross(const DecoderLayer& layer, Pass& pass) {
    return [&](const NodeBatch& nodes) -> Columns {
      return {{"x", layer.finish_layer(nodes.data("x"), compute_averages(nodes), pass)}};
    };
  }

  const UniversalTransformer& model_;
};

UniversalTransformer make_parameters(std::int64_t vocabulary) {
  TransformerOptions options = TransformerOptions::from_preset(TransformerPreset::kTutorial);
  options.kind = ModelKind::kUniversal;
  options.encoder_layers = options.decoder_layers = kMaxSteps;
  options.size = options.feed_forward = 64;
  options.heads = 4;
  options.universal.epsilon = 1 - kThreshold;
  options.input_vocabulary = options.output_vocabulary = vocabulary;
  return UniversalTransformer(options, /*seed=*/1);
}

double mean_steps(const MessageGraph& g, std::string_view set) {
  return g.ndata().get("step", g.nodes(set)).to(at::kDouble).mean().item<double>();
}

void report(std::int64_t step, const UniversalTransformer& fused, const Batch& batch, const MessageGraph& g,
            const at::Tensor& logits, const at::Tensor& loss) {
  const at::NoGradGuard no_grad;
  Pass pass = Pass::inference();
  const double difference = (fused.forward(batch, pass) - logits).abs().max().item<double>();
  const auto count = static_cast<double>(batch.labels.size());
  const auto correct = static_cast<double>(count_correct(logits, at::tensor(batch.labels), kLoss));
  fmt::print(
      "step {:4}: loss {:.3f}, accuracy {:5.1f} %; mean ponder steps {:.2f} in the encoder, {:.2f} in the decoder; the "
      "fused model's logits differ by {:.0e}\n",
      step, loss.item<double>() / count, 100 * correct / count, mean_steps(g, kEncoder), mean_steps(g, kDecoder),
      difference);
}

void train(std::int64_t steps) {
  DataOptions data;
  data.task = DataTask::kSort;
  data.length_mean = 8;
  const auto pairs = make_synthetic(data).train;
  const auto vocabulary = build_vocabulary({pairs.inputs, pairs.outputs});
  const PairEncoder encoder(vocabulary, vocabulary, {});
  BatchStream batches(encode_pairs(pairs, encoder).pairs, {.tokens = 0, .sentences = 64}, /*seed=*/1);

  const UniversalTransformer universal = make_parameters(vocabulary->size());
  const UTransformer model(universal);
  LocalAdam adam(parameters(universal), {.beta1 = 0.9, .beta2 = 0.98, .epsilon = 1e-9});
  const LearningRateSchedule noam({.schedule = ScheduleKind::kNoam, .factor = 1, .warmup = 400}, /*size=*/64);

  for (std::int64_t step = 1; step <= steps; ++step) {
    const Batch batch = batches.next();
    const at::Tensor labels = at::tensor(batch.labels);
    const auto count = static_cast<double>(batch.labels.size());
    MessageGraph g(batch.graph);
    const auto [logits, act_loss] = model.forward(g, batch);
    const at::Tensor loss = smoothed_loss(logits, labels, kLoss);
    if (step % 20 == 0 || step == steps) report(step, universal, batch, g, logits, loss);
    adam.clear_gradients();
    (loss + act_loss * count).backward();
    adam.step(noam(step), count);
  }
}

int main(int argc, char** argv) {
  set_num_threads(available_cores());
  train(/*steps=*/argc > 1 ? std::atoll(argv[1]) : 200);
}
