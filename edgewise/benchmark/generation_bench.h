// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "edgewise/benchmark/training_bench.h"
#include "edgewise/options/layer_options.h"

namespace edgewise {

struct GenerationBenchOptions {
  ModelSize size = ModelSize::kLlama125m;
  RuntimePrecision precision = RuntimePrecision::kFp32;
  StringLists relation = {{"causal"}};  // TransformerOptions::relation
  std::int64_t sequences = 1;           // texts that are continued at once
  std::int64_t prompt = 128;            // tokens of each prompt
  std::int64_t tokens = 128;            // timed tokens of each continuation
  std::int64_t repetitions = 3;
  bool is_profiled = false;  // profile the timed repetitions
};

struct GenerationBench {
  std::int64_t parameters = 0;         // numbers that the model has
  double prompt_seconds = 0.0;         // from the start to the first tokens of all continuations; median of repetitions
  double continuation_seconds = 0.0;   // from then to the end; median of repetitions
  double median_step = 0.0;            // seconds of a token of each continuation
  std::int64_t peak_memory = 0;        // bytes, of the process after the model was made
  double seconds = 0.0;                // time of all repetitions
  std::vector<Profile::Line> profile;  // profile of all repetitions; empty if not requested
};

/// Times a language model of bench_language_model_options with random parameters, as `edgewise generate` runs it:
/// always the likeliest token, and never the end token. A repetition computes prompts of random tokens and their
/// continuations. A shorter text before the first repetition allocates memory and wakes threads. Throws Error for a
/// relation that is no pattern of the model, and if a repetition gives other tokens than the first one.
GenerationBench measure_generation(const GenerationBenchOptions& options);

}  // namespace edgewise
