// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "edgewise/base/config/fields.h"
#include "edgewise/base/profile.h"
#include "edgewise/nn/module.h"
#include "edgewise/options/transformer_options.h"

namespace edgewise {

enum class ModelSize { kTiny, kSmall, kBase, kBig, kCharacters, kLlama125m };

inline constexpr auto enum_names(ModelSize) {
  return names_in_order<ModelSize>("tiny", "small", "base", "big", "characters", "llama-125m");
}

struct TrainingBenchOptions {
  ModelSize size = ModelSize::kTiny;
  Precision precision = Precision::kFp32;
  at::Device device = at::kCPU;
  std::string input;                    // file of input sentences, which give the lengths
  std::string output;                   // file of output sentences, which give the lengths
  std::int64_t length = 0;              // if above 0: trains a language model on texts of so many tokens, without files
  StringLists relation = {{"causal"}};  // TransformerOptions::relation
  std::int64_t tokens = 4096;           // in a batch at most, on the longer side; a text may have more
  std::int64_t steps = 20;
  std::int64_t warmup = 3;  // steps before the timed steps
  bool is_profiled = false;
};

/// Mean losses per token over the first and the last quarter of all steps.
struct LossTrend {
  double first = 0.0;
  double last = 0.0;
};

/// Throws Error when a loss is not finite or the losses do not fall, because the time of such steps is worthless.
LossTrend loss_trend(std::span<const double> losses);

struct TrainingBench {
  double seconds = 0.0;            // time of all timed steps
  std::int64_t output_tokens = 0;  // tokens in the timed steps
  double flops = 0.0;              // the model's flops in the timed steps (models/model_costs.h)
  double median_step = 0.0;        // seconds
  std::int64_t peak_memory = 0;    // bytes, of the process on the CPU up to the last step
  std::int64_t peak_tensors = 0;   // bytes of the tensors on the device, with parameters, gradients and moments
  LossTrend loss;
  std::vector<Profile::Line> profile;  // profile of all timed steps; empty if not requested

  double mean_step(std::int64_t steps) const { return seconds / static_cast<double>(steps); }
  double tokens_per_second() const { return static_cast<double>(output_tokens) / seconds; }
};

/// Returns the options of a model like PyTorch's nn.Transformer: pre-norm with final norms, dropout of 0.1 on
/// residuals, attention weights and activations, and tied embeddings of 10 000 tokens. kCharacters has the dimensions
/// of nanoGPT's model of Shakespeare's characters, and 65 tokens. kLlama125m has the layers of Llama (RMSNorm, rotary
/// positions, SwiGLU, no biases, no dropout) in the dimensions of GPT-2, and 50 000 tokens: as a language model, 123
/// million parameters.
TransformerOptions bench_model_options(ModelSize size);

/// Returns the options of a language model with the decoder of bench_model_options, but without dropout of activations.
TransformerOptions bench_language_model_options(ModelSize size);

/// Estimates the subwords of a sentence, including the end token: words · 5/4 + 1.
std::size_t estimate_subwords(const std::string& sentence);

/// Times the training of a model of bench_model_options with label smoothing of 0.1 by Adam(0.9, 0.98, 1e-9), in
/// batches of pairs of similar length. The first 20 000 pairs of the files give the lengths (estimate_subwords), unless
/// `length` does; the tokens are random, small numbers more often. Throws Error as read_pairs and loss_trend do, and
/// for a relation that is no pattern of the model.
TrainingBench measure_training(const TrainingBenchOptions& options);

}  // namespace edgewise
