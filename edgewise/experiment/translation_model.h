// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "edgewise/graph/batch.h"
#include "edgewise/models/guided_alignment.h"
#include "edgewise/models/sequence_model.h"
#include "edgewise/ops/loss.h"
#include "edgewise/options/experiment.h"
#include "edgewise/text/vocabulary/sentence_frame.h"
#include "edgewise/translate/model_files.h"

namespace edgewise {

/// A translation or language model, with the config and the vocabularies of its training.
struct TranslationModel {
  Experiment experiment;
  Vocabularies vocabularies;
  std::shared_ptr<const SequenceModel> model;

  /// Returns the config's label smoothing, and the padding token of the output vocabulary as the ignored label; none if
  /// it is also the end token, as in imported vocabularies without a padding token.
  LossOptions loss_options() const;

  /// Returns the loss of the part that the config trains, in 8 bits with train.quantise=int8.
  BatchLoss loss(const Batch& batch, const LossOptions& options, const AddedLosses& added, Pass& pass) const;
};

/// Reads a model directory, or the best model of a run directory, after checking every file's size and SHA-256.
TranslationModel load_model(const std::filesystem::path& path);

/// Makes a model from the files of a model directory, which are already in memory.
TranslationModel make_model(const ModelFiles& files);

/// An input as tokens, and the special tokens around them.
struct EncodedInput {
  std::vector<std::int64_t> tokens;
  SentenceFrame frame;
};

/// Encodes an input in the language of the model's config. Errors begin with `caller`.
EncodedInput encode_input(const TranslationModel& model, std::string_view input, std::string_view caller);

/// Pairs an input with the tokens of an output. Both get the special tokens around them.
TokenPair pair_with_output(const TranslationModel& model, const EncodedInput& input,
                           const std::vector<std::int64_t>& output, std::string_view caller);

}  // namespace edgewise
