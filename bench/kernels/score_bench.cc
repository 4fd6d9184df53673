// SPDX-License-Identifier: Apache-2.0
// Attention with score functions, forward and backward, beside attention without: tiles over sentences and a window,
// and rows over random sources. A number for each distance and head is ALiBi's or, with its gradient, T5's.
#include <algorithm>
#include <string>
#include <vector>

#include "bench/kernels/add_benchmark.h"
#include "bench/kernels/attention_arguments.h"
#include "edgewise/graph/builders.h"
#include "edgewise/graph/relation_ops.h"
#include "edgewise/kernels/attention/attention_plan.h"
#include "edgewise/kernels/score/score_inputs.h"

namespace edgewise::kernels {
namespace {

constexpr std::int64_t kHeads = AttentionArguments<float>::kHeads;

Relation sentences() {
  RandomStream random(/*seed=*/1);
  std::vector<Relation> parts;
  for (int i = 0; i < 128; ++i) parts.push_back(complete(6 + static_cast<std::int64_t>(random.next_below(23))));
  return join(parts);
}
Relation window_4096() { return window(4096, {.before = 128, .after = 128}); }
Relation random_8192() { return random_relation(8192, 8192, 32, /*seed=*/1); }

enum class BenchmarkScore { kNone, kProduct, kSoftCap, kDistances, kDistancesWithGradient };

ScoreProgram compile(BenchmarkScore score) {
  ScoreGraph graph;
  const ScoreGraph::Node product = graph.product();
  switch (score) {
    case BenchmarkScore::kSoftCap: {
      const ScoreGraph::Node cap = graph.constant(50);
      const ScoreGraph::Node bounded = graph.apply(ScoreOp::kTanh, graph.apply(ScoreOp::kDivide, product, cap));
      return graph.compile(graph.apply(ScoreOp::kMultiply, bounded, cap), {});
    }
    case BenchmarkScore::kDistances:
    case BenchmarkScore::kDistancesWithGradient:
      return graph.compile(graph.apply(ScoreOp::kAdd, product, graph.column(0)),
                           {score == BenchmarkScore::kDistancesWithGradient});
    default:
      return graph.compile(product, {});
  }
}

/// A number for each distance of a relation and each head.
class DistanceColumn {
 public:
  explicit DistanceColumn(const Relation& relation) {
    const EdgeList edges = relation.edges();
    std::int64_t last = 0;
    for (std::size_t i = 0; i < edges.sources.size(); ++i) {
      const std::int64_t distance = edges.sources[i] - edges.destinations[i];
      first_ = std::min(first_, distance);
      last = std::max(last, distance);
    }
    size_ = last - first_ + 1;
    numbers_.resize(static_cast<std::size_t>(kHeads * (size_ + 2 * kScorePadding)), 0.01f);
    gradients_.resize(static_cast<std::size_t>(kHeads * size_));
  }

  ScoreColumn<float> column(bool has_gradient) {
    return {.domain = ScoreDomain::kDistances,
            .data = numbers_.data() + kScorePadding,
            .size = size_,
            .stride = 1,
            .head_stride = size_ + 2 * kScorePadding,
            .first = first_,
            .grad = has_gradient ? gradients_.data() : nullptr};
  }

 private:
  std::int64_t first_ = 0;
  std::int64_t size_;
  std::vector<float> numbers_, gradients_;
};

void attend(benchmark::State& state, const Relation& relation, BenchmarkScore score) {
  const AttentionPlan plan(relation.view());
  const ScoreProgram program = compile(score);
  DistanceColumn distances(relation);
  const ScoreInputs<float> inputs = {&program, {distances.column(score == BenchmarkScore::kDistancesWithGradient)}};
  AttentionArguments<float> arguments(relation, plan.num_saved_weights<float>());
  AttentionForward<float> forward = arguments.forward(/*dropout=*/0);
  if (score != BenchmarkScore::kNone) forward.score = &inputs;
  AttentionBackward<float> backward = arguments.backward(/*dropout=*/0);
  backward.forward = forward;
  for (auto _ : state) {
    attention_forward(forward, plan);
    attention_backward(backward, plan);
  }
}

const bool kRegistered = [] {
  const std::vector<std::pair<std::string, BenchmarkScore>> scores = {
      {"none", BenchmarkScore::kNone},
      {"product", BenchmarkScore::kProduct},
      {"soft_cap", BenchmarkScore::kSoftCap},
      {"distances", BenchmarkScore::kDistances},
      {"distances_gradient", BenchmarkScore::kDistancesWithGradient}};
  const std::vector<std::pair<std::string, Relation (*)()>> relations = {
      {"sentences", sentences}, {"window_4096", window_4096}, {"random_8192", random_8192}};
  for (const auto& [relation_name, relation] : relations) {
    for (const auto& [score_name, score] : scores) {
      const bool is_smallest = relation_name == "sentences" && score == BenchmarkScore::kSoftCap;
      add_benchmark("score/" + relation_name + "/" + score_name,
                    is_smallest ? BenchmarkSize::kSmallest : BenchmarkSize::kLarger,
                    [make = relation, score = score](benchmark::State& state) { attend(state, make(), score); })
          ->Unit(benchmark::kMillisecond)
          ->MeasureProcessCPUTime();
    }
  }
  return true;
}();

}  // namespace
}  // namespace edgewise::kernels
