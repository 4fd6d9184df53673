// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "edgewise/translate/runtime_scorers.h"
#include "edgewise/translate/translator.h"

namespace edgewise {

/// Puts a model in memory; scorers share it.
using OpenScorers = std::function<Translator::MakeScorer(ModelFiles, const ScorerOptions&)>;

/// What commands that translate have in common.
struct TranslatorSettings {
  std::vector<std::string> models;  // several are an ensemble
  ScorerOptions scorers;
  TranslatorOptions options;
  std::optional<std::int64_t> max_input;  // else as long as the model was trained with
  LongInputs long_inputs = LongInputs::kSplit;
  int threads = 0;  // of all workers
};

void add_translator_options(CLI::App& command, TranslatorSettings& settings);

/// The models, of which one is enough, read; errors begin with `caller`.
std::vector<ModelFiles> read_models(const TranslatorSettings& settings, std::string_view caller);

/// A translator with what the settings say, and what the first model was trained with where they say nothing. Throws
/// Error for models whose vocabularies differ.
std::unique_ptr<Translator> open_translator(std::vector<ModelFiles> models, const TranslatorSettings& settings,
                                            const OpenScorers& open_scorers, std::string_view caller);

}  // namespace edgewise
