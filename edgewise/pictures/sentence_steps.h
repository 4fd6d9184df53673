// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/experiment/translation_model.h"
#include "edgewise/ops/ponder_steps.h"
#include "edgewise/viz/ponder_picture.h"

namespace edgewise {

/// The ponder steps of each node of a sentence pair. An output token stands for the decoder node whose input is the
/// token; the node predicts the next one.
struct SentenceSteps {
  std::vector<TokenSteps> input;
  std::vector<TokenSteps> output;
};

/// Translates the inputs by a Universal Transformer or a decoder with exits, as `edgewise translate` does, and counts
/// the ponder steps of all nodes, or the layers that computed them: those of an output are the steps that its search
/// took. A begin token before the language of an output has none. Inputs without tokens are left out. Throws Error for
/// a model of another kind, for a sentence with more tokens than the model was trained with, and when no input has
/// tokens.
std::vector<SentenceSteps> count_ponder_steps(const TranslationModel& model, const std::vector<std::string>& inputs);

/// Counts the nodes by their ponder steps, over one side of all sentences.
PonderHistogram ponder_histogram(const std::vector<SentenceSteps>& sentences,
                                 std::vector<TokenSteps> SentenceSteps::*side);

/// Returns one JSON object with the sentences and both histograms.
std::string sentence_steps_json(const std::vector<SentenceSteps>& sentences);

}  // namespace edgewise
