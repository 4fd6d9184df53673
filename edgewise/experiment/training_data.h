// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "edgewise/data/pair_source.h"
#include "edgewise/experiment/make_vocabularies.h"
#include "edgewise/experiment/train.h"

namespace edgewise {

/// The data of a training: sentence pairs, or texts for a language model. train() calls the functions in their order.
class TrainingData {
 public:
  virtual ~TrainingData() = default;

  /// Returns the given vocabularies, or learns them from the training data.
  virtual Vocabularies make_vocabularies(std::optional<GivenVocabularies> given) const = 0;

  /// Returns the training pairs or chunks. Reports the data to the observer; `is_new`: also counts what is left out,
  /// and warns about vocabularies that do not fit.
  virtual std::shared_ptr<const PairSource> encode(const Vocabularies& vocabularies, bool is_new,
                                                   RunObserver& observer) const = 0;

  /// Returns the options of the batches of training.
  virtual BatchOptions batch_options() const = 0;

  /// Encodes the data for validation. Throws Error for data that the model cannot measure; `is_cpu`: also if their
  /// edges do not fit into the memory of the machine.
  virtual void encode_validation(const Vocabularies& vocabularies, const TransformerOptions& model, bool is_cpu) = 0;

  /// Returns a text that is equal in two processes if they validate with the same data.
  virtual std::string describe_validation() const = 0;

  /// Makes the task; the validation data move to it.
  virtual std::unique_ptr<TrainingTask> make_task(TranslationModel model, ProcessGroup& processes) = 0;

  /// Moves the test data to the result.
  virtual void move_test(TrainResult& result) = 0;
};

/// Opens the data of a config, whose relative paths begin at `folder`, and reports them to the observer.
std::unique_ptr<TrainingData> open_training_data(const Experiment& experiment, const std::filesystem::path& folder,
                                                 RunObserver& observer);

}  // namespace edgewise
