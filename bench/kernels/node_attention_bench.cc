// SPDX-License-Identifier: Apache-2.0
// Attention of a decoding step: each hypothesis attends to the sources of its sentence, which a KV cache holds.
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "bench/kernels/add_benchmark.h"
#include "edgewise/base/bfloat16.h"
#include "edgewise/base/random.h"
#include "edgewise/kernels/attention/node_attention.h"

namespace edgewise::kernels {
namespace {

constexpr std::int64_t kHeads = 8;
constexpr std::int64_t kHeadSize = 64;
constexpr std::int64_t kSize = kHeads * kHeadSize;

struct StepSize {
  std::int64_t sentences;
  std::int64_t beam;     // hypotheses per sentence
  std::int64_t sources;  // sources per sentence
};

// The keys and values of all sentences, in random order in memory, and the queries of one step.
template <typename T>
class DecodingStep {
 public:
  explicit DecodingStep(const StepSize& step) : rows_(step.sentences * step.beam) {
    RandomStream random(/*seed=*/1);
    const std::int64_t num_sources = step.sentences * step.sources;
    for (std::int64_t i = 0; i < num_sources * 2 * kSize; ++i) memory_.push_back(T(draw(random)));
    for (std::int64_t i = 0; i < rows_ * kSize; ++i) query_.push_back(draw(random));
    for (std::int64_t i = 0; i < num_sources; ++i) {
      sources_.push_back(memory_.data() + i * 2 * kSize);
      std::swap(sources_.back(), sources_[random.next_below(static_cast<std::uint64_t>(i + 1))]);
    }
    for (std::int64_t row = 0; row < rows_; ++row) ranges_.push_back({row / step.beam * step.sources, step.sources});
    out_.resize(query_.size());
  }

  NodeAttention<T> arguments() {
    return {.rows = rows_,
            .num_heads = kHeads,
            .head_size = kHeadSize,
            .ranges = ranges_.data(),
            .sources = sources_.data(),
            .key_offset = 0,
            .value_offset = kSize,
            .query = query_.data(),
            .query_stride = kSize,
            .out = out_.data(),
            .scale = 0.125f,
            .clamp = std::numeric_limits<float>::infinity()};
  }

 private:
  static float draw(RandomStream& random) { return static_cast<float>(random.uniform()) - 0.5f; }

  std::int64_t rows_;
  std::vector<T> memory_;  // [sources, key and value, K, H]
  std::vector<const T*> sources_;
  std::vector<SourceRange> ranges_;
  std::vector<float> query_, out_;
};

template <typename T>
void add(const std::string& type, const StepSize& step, BenchmarkSize size) {
  const std::string name = "node_attention/" + type + "/sentences:" + std::to_string(step.sentences) +
                           "/beam:" + std::to_string(step.beam) + "/sources:" + std::to_string(step.sources);
  add_benchmark(name, size, [=](benchmark::State& state) {
    DecodingStep<T> decoding_step(step);
    const NodeAttention<T> arguments = decoding_step.arguments();
    for (auto _ : state) {
      node_attention(arguments);
      benchmark::ClobberMemory();
    }
    // Each row computes two products per source: the score and the weighted value.
    const double flops = 4.0 * static_cast<double>(step.sentences * step.beam * step.sources * kSize);
    state.counters["FLOP/s"] = benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
  });
}

const bool kRegistered = [] {
  const std::vector<StepSize> steps = {{1, 1, 16}, {64, 1, 32}, {64, 4, 32}, {64, 4, 256}};
  for (const StepSize& step : steps) {
    const BenchmarkSize size = &step == steps.data() ? BenchmarkSize::kSmallest : BenchmarkSize::kLarger;
    add<float>("fp32", step, size);
    add<BFloat16>("bf16", step, size);
  }
  return true;
}();

}  // namespace
}  // namespace edgewise::kernels
