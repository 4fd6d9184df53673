// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "edgewise/base/fields.h"
#include "edgewise/graph/batch.h"
#include "edgewise/nn/module.h"
#include "edgewise/nn/step_count.h"
#include "edgewise/options/train_options.h"

namespace edgewise {

/// What a model says of one batch.
struct BatchLoss {
  at::Tensor loss_sum;      // what training lessens: scalar, summed over tokens, differentiable
  at::Tensor reported_sum;  // the part of it that is reported; undefined: all
  std::int64_t tokens = 0;
  std::int64_t correct = 0;    // tokens that got their label
  StepHistogram encoder = {};  // of thinking, where the model counts them
  StepHistogram decoder = {};
};

/// The same over batches, as plain numbers.
struct LogSums {
  double loss = 0.0;
  std::int64_t tokens = 0;
  std::int64_t correct = 0;
  StepCount encoder = {};
  StepCount decoder = {};

  LogSums& operator+=(const LogSums& other) {
    loss += other.loss;
    tokens += other.tokens;
    correct += other.correct;
    encoder += other.encoder;
    decoder += other.decoder;
    return *this;
  }
  bool operator==(const LogSums&) const = default;
};

/// What a model makes of an input.
struct OutputSample {
  std::string input;
  std::string output;
  std::string reference;
};

/// What a model is worth on pairs that it does not learn from. Unset: not measured.
struct Validation {
  double loss = 0.0;      // per token
  double accuracy = 0.0;  // share of tokens
  std::optional<double> sequence_accuracy = std::nullopt;
  std::optional<double> bleu = std::nullopt;
  std::vector<OutputSample> samples = {};
  StepHistogram encoder_steps = {};  // of thinking, where the model counts them
  StepHistogram decoder_steps = {};
  std::string attention = {};  // where the model looked in a pair that is shown, as JSON

  template <class Self, class Field>
  static void list_fields(Self& self, Field&& field) {
    field("loss", self.loss, "per token");
    field("accuracy", self.accuracy, "share of correct tokens");
    field("sequence_accuracy", self.sequence_accuracy, "share of correct sentences");
    field("bleu", self.bleu, "of translations");
  }
};

/// Throws Error when a validation does not measure what it is to be compared by.
void require_measured(const Validation& validation, BestBy by);

/// Where what is compared is equal or not measured, the loss decides.
bool is_better(const Validation& candidate, const Validation& best, BestBy by = BestBy::kAuto);

/// What the trainer knows of the thing that it trains.
class TrainingTask {
 public:
  virtual ~TrainingTask() = default;

  /// What the model is, as in "transformer": a run of one kind cannot go on as another.
  virtual std::string kind() const = 0;

  /// Size of a node's state, by which the Noam schedule scales.
  virtual std::int64_t size() const = 0;

  /// Leaves that require gradients, each once, always in the same order.
  virtual std::vector<NamedTensor> parameters() = 0;

  virtual BatchLoss loss(const Batch& batch, Pass& pass) = 0;

  /// False without pairs to validate with: then `validate` is not called, and there is no best model but the last.
  virtual bool can_validate() const { return true; }
  virtual Validation validate() = 0;

  /// Name to bytes: what a model directory holds beside model.safetensors, such as config.toml and the vocabularies.
  virtual std::map<std::string, std::string> model_files() = 0;
};

}  // namespace edgewise
