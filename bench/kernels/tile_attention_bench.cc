// SPDX-License-Identifier: Apache-2.0
// Attention by the tile kernels over batches of translation, windows, and long complete and causal relations.
#include <string>
#include <vector>

#include "bench/kernels/add_benchmark.h"
#include "bench/kernels/attention_arguments.h"
#include "edgewise/graph/builders.h"
#include "edgewise/graph/relation_ops.h"
#include "edgewise/kernels/attention/tile_attention.h"

namespace edgewise::kernels {
namespace {

// Returns a batch of translation: 128 sentences of 6 to 28 tokens.
template <class MakeSentence>
Relation make_batch(MakeSentence make_sentence) {
  RandomStream random(/*seed=*/1);
  std::vector<Relation> parts;
  for (int i = 0; i < 128; ++i) parts.push_back(make_sentence(6 + static_cast<std::int64_t>(random.next_below(23))));
  return join(parts);
}

Relation sentences_complete() {
  return make_batch([](std::int64_t length) { return complete(length); });
}
Relation sentences_causal() {
  return make_batch([](std::int64_t length) { return causal(length); });
}
Relation window_4096() { return window(4096, {.before = 128, .after = 128}); }
Relation window_65536() { return window(65536, {.before = 128, .after = 128}); }
Relation complete_2048() { return complete(2048); }
Relation causal_2048() { return causal(2048); }

template <typename T>
void attend(benchmark::State& state, const Relation& relation, Passes passes, double dropout) {
  const TilePlan plan(relation.view());
  AttentionArguments<T> arguments(relation, plan.num_saved_weights);
  const AttentionForward<T> forward = arguments.forward(dropout);
  const AttentionBackward<T> backward = arguments.backward(dropout);
  cpu::tile_attention_forward(forward, plan);
  for (auto _ : state) {
    if (passes != Passes::kBackward) cpu::tile_attention_forward(forward, plan);
    if (passes != Passes::kForward) cpu::tile_attention_backward(backward, plan);
  }
  arguments.report_flops(state, passes);
}

struct Case {
  std::string name;
  Relation (*relation)();
  BenchmarkSize size = BenchmarkSize::kLarger;
};

template <typename T>
void add(const Case& entry, const std::string& suffix, Passes passes, double dropout = 0) {
  add_benchmark("tile_attention/" + entry.name + "/" + suffix, entry.size,
                [=](benchmark::State& state) { attend<T>(state, entry.relation(), passes, dropout); })
      ->Unit(benchmark::kMillisecond)
      ->MeasureProcessCPUTime();
}

const bool kRegistered = [] {
  const std::vector<Case> cases = {{"sentences_causal", sentences_causal, BenchmarkSize::kSmallest},
                                   {"sentences_complete", sentences_complete},
                                   {"window_4096", window_4096},
                                   {"window_65536", window_65536},
                                   {"complete_2048", complete_2048},
                                   {"causal_2048", causal_2048}};
  for (const Case& entry : cases) {
    add<float>(entry, "fp32/forward", Passes::kForward);
    add<float>(entry, "fp32/backward", Passes::kBackward);
    add<float>(entry, "fp32/both", Passes::kBoth);
    add<float>(entry, "fp32/dropout/both", Passes::kBoth, 0.1);
    add<BFloat16>(entry, "bf16/both", Passes::kBoth);
  }
  return true;
}();

}  // namespace
}  // namespace edgewise::kernels
