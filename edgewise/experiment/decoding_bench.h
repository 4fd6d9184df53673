// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "edgewise/experiment/training_bench.h"
#include "edgewise/base/profile.h"
#include "edgewise/options/precision.h"

namespace edgewise {

struct DecodingBenchOptions {
  ModelSize size = ModelSize::kTiny;
  RuntimePrecision precision = RuntimePrecision::kFp32;
  std::string input;  // a file whose sentences give the lengths
  std::int64_t sentences = 400;
  std::int64_t beam = 4;
  std::int64_t batch = 32;          // sentences that a worker searches at once
  std::int64_t output_tokens = 16;  // of each output, its end token among them
  bool is_profiled = false;         // of one worker
};

/// A number of workers that share a model's weights, each with as many threads.
struct ThreadSplit {
  int workers = 1;
  int threads = 1;
};

struct DecodingBench {
  ThreadSplit split;
  double seconds = 0.0;
  std::int64_t output_tokens = 0;
  double median_latency = 0.0;         // seconds from an input's turn to its output
  std::vector<Profile::Line> profile;  // of the first worker, where it was asked for

  double tokens_per_second() const { return static_cast<double>(output_tokens) / seconds; }
};

/// Translates with that model, norms behind the sums and none at the ends, whose parameters are random, once to warm up
/// and then timed, split after split. An input has as many tokens as its sentence would have subwords (words · 5/4 +
/// 1), drawn at random; each output is made to have the length asked for. Throws Error when one has not.
std::vector<DecodingBench> measure_decoding(const DecodingBenchOptions& options,
                                            const std::vector<ThreadSplit>& splits);

}  // namespace edgewise
