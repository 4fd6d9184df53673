// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "edgewise/benchmark/training_bench.h"
#include "edgewise/options/layer_options.h"
#include "edgewise/translate/decoder_depth.h"

namespace edgewise {

struct DecodingBenchOptions {
  ModelSize size = ModelSize::kTiny;
  std::string model;        // a run or model directory; empty: a model of random parameters of `size`
  DecoderDepth depth = {};  // the part of the decoder of `model`
  // The number of a GPU; none: the CPU, or with EDGEWISE_OPERATIONS=cuda-emulated the emulator of GPUs, for tests.
  std::optional<std::int64_t> gpu = {};
  RuntimePrecision precision = RuntimePrecision::kFp32;
  std::string input;  // a file of sentences, which give the input lengths
  std::int64_t sentences = 400;
  double min_seconds = 3.0;  // the sentences are decoded again, all of them, until this time has passed
  std::int64_t beam = 4;
  std::int64_t batch = 32;          // sentences that a worker decodes at a time
  std::int64_t output_tokens = 16;  // length of each output in tokens, including the end token
  bool is_profiled = false;         // profile the first worker
};

/// How threads are split: workers share the model's weights, and each has `threads` threads.
struct ThreadSplit {
  int workers = 1;
  int threads = 1;
};

struct DecodingBench {
  ThreadSplit split;
  double seconds = 0.0;
  std::int64_t output_tokens = 0;
  double median_latency = 0.0;         // seconds from taking an input to its result
  std::vector<Profile::Line> profile;  // profile of the first worker, if requested

  double tokens_per_second() const { return static_cast<double>(output_tokens) / seconds; }
};

/// Times decoding for each split in turn, after a warm-up. The search options force each output to `output_tokens`.
///
/// Reads options.model; its inputs are the first sentences of options.input as tokens of the model, and a sentence that
/// the model splits is several inputs. Without options.model, makes a model of random parameters, post-norm without
/// final norms; an input has as many random tokens as its sentence would have subwords (words · 5/4 + 1). Throws Error
/// for a file without sentences, for outputs for which the model has too few positions, and when an output has a
/// different length.
std::vector<DecodingBench> measure_decoding(const DecodingBenchOptions& options,
                                            const std::vector<ThreadSplit>& splits);

}  // namespace edgewise
