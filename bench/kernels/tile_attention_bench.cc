// SPDX-License-Identifier: Apache-2.0
// Attention by the tile kernels over batches of translation, windows, and long complete and causal relations.
#include <string>
#include <vector>

#include "bench/kernels/attention_benchmarks.h"
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
void attend(AttentionArguments<T>* /*type*/, benchmark::State& state, const Relation& relation, Passes passes,
            double dropout) {
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

const bool kRegistered = [] {
  const std::vector<AttentionCase> cases = {{"sentences_causal", sentences_causal, BenchmarkSize::kSmallest},
                                            {"sentences_complete", sentences_complete},
                                            {"window_4096", window_4096},
                                            {"window_65536", window_65536},
                                            {"complete_2048", complete_2048},
                                            {"causal_2048", causal_2048}};
  add_attention_benchmarks("tile_attention", cases,
                           [](auto* type, auto&&... arguments) { attend(type, arguments...); });
  return true;
}();

}  // namespace
}  // namespace edgewise::kernels
