// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "bench/kernels/add_benchmark.h"
#include "bench/kernels/attention_arguments.h"

namespace edgewise::kernels {

/// A relation that attention is timed on.
struct AttentionCase {
  std::string name;
  Relation (*relation)();
  BenchmarkSize size = BenchmarkSize::kLarger;
};

/// Registers `kernel`/<case>/<type and passes> for each case. `attend(AttentionArguments<T>*, state, relation, passes,
/// dropout)` times the kernel; its first argument is null and selects T.
template <class Attend>
void add_attention_benchmarks(const std::string& kernel, const std::vector<AttentionCase>& cases, Attend attend) {
  for (const AttentionCase& entry : cases) {
    auto add = [&]<typename T>(AttentionArguments<T>* type, const std::string& suffix, Passes passes, double dropout) {
      add_benchmark(kernel + "/" + entry.name + "/" + suffix, entry.size,
                    [=](benchmark::State& state) { attend(type, state, entry.relation(), passes, dropout); })
          ->Unit(benchmark::kMillisecond)
          ->MeasureProcessCPUTime();
    };
    AttentionArguments<float>* const fp32 = nullptr;
    AttentionArguments<BFloat16>* const bf16 = nullptr;
    add(fp32, "fp32/forward", Passes::kForward, 0);
    add(fp32, "fp32/backward", Passes::kBackward, 0);
    add(fp32, "fp32/both", Passes::kBoth, 0);
    add(fp32, "fp32/dropout/both", Passes::kBoth, 0.1);
    add(bf16, "bf16/both", Passes::kBoth, 0);
  }
}

}  // namespace edgewise::kernels
