// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "edgewise/experiment/model_directory.h"
#include "edgewise/nn/step_count.h"

namespace edgewise {

/// A token, and how many steps its node thought: of an output, before it said the token that follows.
struct PonderedToken {
  std::string text;
  std::int64_t steps = 0;
};

struct PonderedSentence {
  std::vector<PonderedToken> input;
  std::vector<PonderedToken> output;
};

/// How long a Universal Transformer thinks about sentences, and about what it makes of them. Throws Error for another
/// model and for sentences without tokens.
std::vector<PonderedSentence> ponder(const TranslationModel& model, const std::vector<std::string>& inputs);

/// Of one side of all sentences.
StepHistogram step_histogram(const std::vector<PonderedSentence>& sentences,
                             std::vector<PonderedToken> PonderedSentence::*side);

/// For people: each sentence with the steps under its tokens, then both histograms.
void print_ponder(const std::vector<PonderedSentence>& sentences);

/// The same as one JSON object, for pictures.
std::string ponder_json(const std::vector<PonderedSentence>& sentences);

}  // namespace edgewise
