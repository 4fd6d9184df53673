// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "edgewise/base/fields.h"
#include "edgewise/base/profile.h"
#include "edgewise/nn/module.h"
#include "edgewise/options/transformer_options.h"

namespace edgewise {

enum class ModelSize { kTiny, kSmall, kBase };

inline constexpr auto enum_names(ModelSize) {
  return std::array{EnumName<ModelSize>{ModelSize::kTiny, "tiny"}, EnumName<ModelSize>{ModelSize::kSmall, "small"},
                    EnumName<ModelSize>{ModelSize::kBase, "base"}};
}

struct TrainingBenchOptions {
  ModelSize size = ModelSize::kTiny;
  Precision precision = Precision::kFp32;
  std::string input;   // files whose sentence pairs give the lengths
  std::string output;  //
  std::int64_t steps = 20;
  std::int64_t warmup = 3;  // steps before those, which are not timed
  bool is_profiled = false;
};

/// Means over the first and the last quarter of all steps.
struct LossCourse {
  double first = 0.0;
  double last = 0.0;
};

/// Throws Error when a loss is not finite, or when they do not fall: the time of such steps says nothing.
LossCourse loss_course(std::span<const double> losses);

struct TrainingBench {
  double seconds = 0.0;                // of all timed steps
  std::int64_t output_tokens = 0;      // in them
  double flops = 0.0;                  // of the model in them (training_flops.h)
  double median_step = 0.0;            // seconds
  std::int64_t peak_memory = 0;        // of the process up to their end, in bytes
  LossCourse loss;                     // per token
  std::vector<Profile::Line> profile;  // of all timed steps; empty where it was not asked for

  double mean_step(std::int64_t steps) const { return seconds / static_cast<double>(steps); }
  double tokens_per_second() const { return static_cast<double>(output_tokens) / seconds; }
};

/// Tied word tables of 10 000 words, pre-norm with final norms, and dropout of 0.1 of residuals, attention weights and
/// activations: PyTorch's nn.Transformer.
TransformerOptions bench_model(ModelSize size);

/// About as many subwords as a sentence has, with the one that ends it.
std::size_t length_in_subwords(const std::string& sentence);

/// Trains that model with label smoothing of 0.1 by Adam(0.9, 0.98, 1e-9), in batches of at most 4096 tokens on the
/// longer side, made from pairs of like length. Sentences are as long as the first 20 000 pairs of the files would be
/// as subwords (words · 5/4 + 1); their tokens are drawn at random, small numbers more often. Throws Error as
/// read_pairs and loss_course do.
TrainingBench measure_training(const TrainingBenchOptions& options);

}  // namespace edgewise
