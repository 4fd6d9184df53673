// SPDX-License-Identifier: Apache-2.0
#include "edgewise/benchmark/copy_task_bench.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/random.h"
#include "edgewise/base/sorting.h"
#include "edgewise/benchmark/training_bench.h"
#include "edgewise/graph/batch.h"
#include "edgewise/message/message_graph.h"
#include "edgewise/models/transformer.h"
#include "edgewise/ops/loss.h"
#include "edgewise/train/adam.h"

namespace edgewise {
namespace {

constexpr std::int64_t kCopyPairs = 128;
constexpr std::int64_t kCopyLength = 9;
constexpr std::int64_t kCopyVocabulary = 32;
constexpr std::int64_t kWarmUpSteps = 3;
constexpr double kLearningRate = 1e-3;
constexpr double kScoreBound = 5.0;
constexpr double kLossTolerance = 1e-4;
constexpr LossOptions kLoss = {.smoothing = 0.1, .ignored = SpecialTokens().padding};

std::vector<TokenPair> random_pairs(RandomStream& random) {
  const SpecialTokens special;
  const std::int64_t first_letter = std::max({special.padding, special.begin, special.end}) + 1;
  std::vector<TokenPair> pairs(kCopyPairs);
  for (TokenPair& pair : pairs) {
    pair.output.push_back(special.begin);
    for (std::int64_t i = 0; i < kCopyLength; ++i) {
      const auto letter = first_letter + static_cast<std::int64_t>(random.next_below(kCopyVocabulary - first_letter));
      pair.input.push_back(letter);
      pair.output.push_back(letter);
    }
    pair.output.push_back(special.end);
  }
  return pairs;
}

TransformerOptions model_options(const MessageBenchOptions& bench) {
  TransformerOptions options = TransformerOptions::from_preset(TransformerPreset::kTutorial);
  options.encoder_layers = options.decoder_layers = 1;
  options.heads = bench.num_heads();
  options.size = options.feed_forward = options.heads * bench.size_of_head();
  options.clamp = kScoreBound;
  options.dropout = {.embedding = 0.0, .residual = 0.0, .attention = 0.0, .activation = 0.0};
  options.input_vocabulary = options.output_vocabulary = kCopyVocabulary;
  return options;
}

/// Makes the graph of all steps and lists the edges of its relations, which its copies keep.
MessageGraph make_graph(const Graph& graph) {
  MessageGraph made(graph);
  for (const std::string_view relation : {kEncoderEncoder, kEncoderDecoder, kDecoderDecoder}) made.edges(relation);
  return made;
}

class CopyTaskTraining {
 public:
  CopyTaskTraining(MessageWay way, const MessageBenchOptions& options)
      : way_(way),
        model_(model_options(options), /*seed=*/1),
        adam_(parameters(model_), {.beta1 = 0.9, .beta2 = 0.98, .epsilon = 1e-9}) {}

  MessageWay way() const { return way_; }

  void step(const MessageGraph& graph, const Batch& batch, const at::Tensor& labels) {
    const auto begin = std::chrono::steady_clock::now();
    Pass pass = Pass::training(/*seed=*/1);
    adam_.clear_gradients();
    const at::Tensor loss = smoothed_loss(logits(graph, batch, pass), labels, kLoss);
    loss.backward();
    adam_.step(kLearningRate, static_cast<double>(batch.labels.size()));
    seconds_.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    losses_.push_back(loss.item<double>() / static_cast<double>(batch.labels.size()));
  }

  double first_loss() const { return losses_.front(); }

  TrainingWayBench result() const {
    const LossTrend trend = loss_trend(losses_);
    return {.way = way_,
            .seconds = median({seconds_.begin() + kWarmUpSteps, seconds_.end()}),
            .first_loss = trend.first,
            .last_loss = trend.last};
  }

 private:
  at::Tensor logits(const MessageGraph& graph, const Batch& batch, Pass& pass) const {
    if (way_ == MessageWay::kFused) return model_.forward(batch, pass);
    MessageGraph columns = graph;
    return model_.forward_by_messages(columns, batch, pass);
  }

  MessageWay way_;
  Transformer model_;
  LocalAdam adam_;
  std::vector<double> seconds_;
  std::vector<double> losses_;
};

}  // namespace

CopyTaskBench measure_copy_task(const MessageBenchOptions& options) {
  std::vector<std::unique_ptr<CopyTaskTraining>> trainings;
  for (const MessageWay way : options.ways()) trainings.push_back(std::make_unique<CopyTaskTraining>(way, options));
  RandomStream random(/*seed=*/1);
  Batch batch = make_batch(random_pairs(random));
  const MessageGraph graph = make_graph(batch.graph);

  for (std::int64_t step = 0; step < kWarmUpSteps + options.repetitions; ++step) {
    Batch next = make_batch(random_pairs(random));
    next.graph = batch.graph;  // the lengths of all batches are equal, and so are their graphs
    const at::Tensor labels = at::tensor(next.labels);
    for (const auto& training : trainings) training->step(graph, next, labels);
  }

  CopyTaskBench bench = {
      .sentences = kCopyPairs, .output_tokens = static_cast<std::int64_t>(batch.labels.size()), .ways = {}};
  for (const auto& training : trainings) {
    const double difference = std::abs(training->first_loss() - trainings.front()->first_loss());
    check(difference <= kLossTolerance, "bench message: the first loss by {} differs by {:.1e} from that by {}",
          enum_name(training->way()), difference, enum_name(trainings.front()->way()));
    bench.ways.push_back(training->result());
  }
  return bench;
}

}  // namespace edgewise
