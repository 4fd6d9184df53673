// SPDX-License-Identifier: Apache-2.0
// Attention by the row kernels over sparse relations.
#include <string>
#include <vector>

#include "bench/kernels/attention_benchmarks.h"
#include "edgewise/graph/builders.h"
#include "edgewise/kernels/attention/row_attention.h"

namespace edgewise::kernels {
namespace {

Relation random_512() { return random_relation(512, 512, /*in_degree=*/16, /*seed=*/1); }
Relation random_8192() { return random_relation(8192, 8192, /*in_degree=*/32, /*seed=*/1); }
Relation strided_4096() { return strided(4096, /*stride=*/64); }
Relation dilated_4096() { return window(4096, {.before = 32, .after = 32, .dilation = 4}); }

template <typename T>
void attend(AttentionArguments<T>* /*type*/, benchmark::State& state, const Relation& relation, Passes passes,
            double dropout) {
  const EdgeOrders edges(relation.view());
  AttentionArguments<T> arguments(relation);
  const AttentionForward<T> forward = arguments.forward(dropout);
  const AttentionBackward<T> backward = arguments.backward(dropout);
  cpu::row_attention_forward(forward, edges);
  edges.by_source();  // derived once per relation, not in each backward pass
  for (auto _ : state) {
    if (passes != Passes::kBackward) cpu::row_attention_forward(forward, edges);
    if (passes != Passes::kForward) cpu::row_attention_backward(backward, edges);
  }
  arguments.report_flops(state, passes);
}

const bool kRegistered = [] {
  const std::vector<AttentionCase> cases = {{"random_512", random_512, BenchmarkSize::kSmallest},
                                            {"random_8192", random_8192},
                                            {"strided_4096", strided_4096},
                                            {"dilated_4096", dilated_4096}};
  add_attention_benchmarks("row_attention", cases, [](auto* type, auto&&... arguments) { attend(type, arguments...); });
  return true;
}();

}  // namespace
}  // namespace edgewise::kernels
