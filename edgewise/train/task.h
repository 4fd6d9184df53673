// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "edgewise/base/config/fields.h"
#include "edgewise/base/stop_request.h"
#include "edgewise/graph/batch.h"
#include "edgewise/nn/module.h"
#include "edgewise/ops/loss.h"
#include "edgewise/options/train_options.h"

namespace edgewise {

/// The output of a model for an input, and the reference output.
struct OutputSample {
  std::string input;
  std::string output;
  std::string reference;
};

/// The scores of a model on validation pairs. A score that was not measured is unset.
struct Validation {
  double loss = 0.0;      // per token
  double accuracy = 0.0;  // share of correct tokens
  std::optional<double> sequence_accuracy = std::nullopt;
  std::optional<double> bleu = std::nullopt;
  std::optional<double> bits_per_character = std::nullopt;  // texts in UTF-8 only
  std::optional<double> bits_per_byte = std::nullopt;       // texts only
  std::vector<OutputSample> samples = {};
  PonderHistogram encoder_steps = {};  // ponder steps of nodes, for models with adaptive computation
  PonderHistogram decoder_steps = {};
  std::map<std::int64_t, double> exit_loss = {};      // per token, at each exit of the decoder, by its layer
  std::map<std::int64_t, double> exit_accuracy = {};  // share of correct tokens there
  std::string attention = {};                         // attention weights of the recorded pair, as JSON

  static void list_fields(auto& self, auto&& field) {
    field("loss", self.loss, "mean loss per token", any_number());
    field("accuracy", self.accuracy, "share of correct tokens", any_number());
    field("sequence_accuracy", self.sequence_accuracy, "share of correct sentences", any_number());
    field("bleu", self.bleu, "BLEU of the translations, 0 to 100", any_number());
    field("bits_per_character", self.bits_per_character, "loss of a text in bits per character", any_number());
    field("bits_per_byte", self.bits_per_byte, "loss of a text in bits per byte", any_number());
  }
};

/// Throws Error when a validation does not measure the score that `by` names.
void require_measured(const Validation& validation, BestMetric by);

/// Compares by the score that `by` names; if this score is equal or not measured, the lower loss is better.
bool is_better(const Validation& candidate, const Validation& best, BestMetric by = BestMetric::kAuto);

/// A model with its loss and validation, as the trainer uses them.
class TrainingTask {
 public:
  virtual ~TrainingTask() = default;

  /// Returns the kind of the model, such as "transformer". A run of one kind cannot resume as another.
  virtual std::string kind() const = 0;

  /// Returns the size of a node's state, which scales the Noam schedule.
  virtual std::int64_t size() const = 0;

  /// Returns each parameter once, in a fixed order. Each is a leaf that requires a gradient.
  virtual std::vector<NamedTensor> parameters() = 0;

  virtual BatchLoss loss(const Batch& batch, Pass& pass) = 0;

  /// Sets the gradients of numbers that training keeps constant to 0. Called after the backward passes of a step.
  virtual void clear_constant_gradients() {}

  /// Returns whether there are validation pairs. Without them, validate() is not called and RUN/best is not written.
  virtual bool can_validate() const { return true; }

  /// Throws StopException, within about a second, if `stop` is set before the end.
  virtual Validation validate(const StopRequest& stop) = 0;

  /// Returns the other files of a model directory, name to bytes, such as config.toml and the vocabularies.
  virtual std::map<std::string, std::string> model_files() = 0;
};

}  // namespace edgewise
