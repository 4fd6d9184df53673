// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "edgewise/nn/serialize.h"
#include "edgewise/runtime/runtime_model.h"
#include "tests/models/small_models.h"
#include "tests/nn/convert_parameters.h"

namespace edgewise {

template <class Model>
SafetensorsFile parameter_file(const Model& model) {
  const std::string bytes = serialize_tensors(parameters(model));
  return SafetensorsFile::parse(bytes, "model.safetensors");
}

template <class Model>
RuntimeModel runtime_of(const Model& model, RuntimePrecision precision = RuntimePrecision::kFp32) {
  return RuntimeModel(model.options(), parameter_file(model), "model.safetensors", precision);
}

/// Returns a model with random numbers for all parameters, in fp32.
inline Transformer random_model(const TransformerOptions& options) {
  Transformer model = small_model(options);
  convert_parameters(model, at::kFloat);
  return model;
}

/// Returns options that together reach every branch of the layers: each preset, and options that no preset has.
inline std::vector<TransformerOptions> all_kinds_of_options() {
  std::vector<TransformerOptions> kinds;
  for (const TransformerPreset preset : all_presets()) {
    TransformerOptions options = small_options(preset);
    kinds.push_back(options);
    options.size = 48;
    options.heads = 3;
    options.feed_forward = 70;
    options.encoder_layers = 1;
    kinds.push_back(options);
  }
  kinds.push_back(small_options(TransformerPreset::kTutorial));
  kinds.back().activation = Activation::kGelu;
  kinds.back().score = ScoreKind::kAdditive;
  kinds.back().tying = Tying::kOutput;
  kinds.push_back(small_options(TransformerPreset::kChapter));
  kinds.back().final_norm = true;
  kinds.back().clamp = 0.7;
  for (const auto& positions : enum_names(PositionKind{})) {
    kinds.push_back(small_options(TransformerPreset::kTutorial));
    kinds.back().positions = positions.value;
    kinds.back().max_positions = 17;  // as many as the longest of kInputs has tokens
    kinds.back().activation = Activation::kSilu;
  }
  for (const auto& [name, options] : options_without_preset()) kinds.push_back(options);
  kinds.push_back(small_options(TransformerPreset::kTutorial));
  kinds.back().input_vocabulary = kinds.back().output_vocabulary = 1100;  // two tiles of the output projection
  return kinds;
}

/// Returns options of models with patterns: intervals, lists of tokens, both, and rows without tokens.
inline std::vector<TransformerOptions> all_kinds_of_patterns() {
  std::vector<TransformerOptions> kinds;
  const auto add = [&](const StringLists& relation, const StringLists& encoder_relation) {
    kinds.push_back(small_options(TransformerPreset::kTutorial));
    kinds.back().relation = relation;
    kinds.back().encoder_relation = encoder_relation;
  };
  add({{"window 2"}}, {{"window 1"}});
  add({{"window 2", "sinks 1"}, {"causal"}}, {{"window 2", "sinks 2"}, {"complete"}});
  add({{"causal"}, {"dilated 2 by 2"}}, {{"complete"}, {"dilated 3 by 2", "blocks 4"}});
  add({{"global every 2"}, {"random 2 seed 9"}}, {{"global every 20"}, {"random 3", "causal"}});
  return kinds;
}

/// The nodes and the result of one step.
struct GrownStep {
  std::vector<NewNode> nodes;
  StepResult result;
};

/// Encodes the inputs in slots 0, 1, … and grows two branches of tokens per slot below a begin token. Each step
/// requests candidates, all log-probabilities and attention.
inline std::vector<GrownStep> grow_branches(Scorer& scorer, const std::vector<Tokens>& inputs, std::int64_t num_steps) {
  std::vector<std::int64_t> slots;
  for (std::size_t i = 0; i < inputs.size(); ++i) slots.push_back(static_cast<std::int64_t>(i));
  scorer.encode(slots, inputs);
  std::vector<GrownStep> steps;
  for (std::int64_t t = 0; t < num_steps; ++t) {
    GrownStep& step = steps.emplace_back();
    for (const std::int64_t slot : slots) {
      const auto parent = [&](std::int64_t branch) {
        return static_cast<NodeIndex>(t == 0 ? HypothesisTree::kRoot : t == 1 ? 0 : 2 * t - 3 + branch);
      };
      step.nodes.push_back({slot, parent(0), t == 0 ? 2 : 4 + (slot + t) % 5});
      if (t > 0) step.nodes.push_back({slot, parent(t == 3 ? 0 : 1), 5 + t % 4});  // a beam reorders in step 3
    }
    StepRequest request;
    request.nodes = step.nodes;
    request.num_candidates = 4;
    request.all = true;
    request.attention = true;
    scorer.step(request, step.result);
  }
  return steps;
}

inline const std::vector<Tokens> kInputs = {{4, 9, 5, 3}, {8}, {5, 5, 4, 7, 7, 9, 10, 3, 4, 6, 5, 8, 9, 4, 4, 5, 7}};

/// `tolerance` is relative to expected numbers above 1.
inline void expect_near(const std::vector<float>& found, const std::vector<float>& expected, float tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(found[i], expected[i], tolerance * std::max(1.0f, std::abs(expected[i]))) << "at " << i;
  }
}

/// Returns the mean distance of log-probabilities.
inline double mean_difference(const std::vector<GrownStep>& found, const std::vector<GrownStep>& expected) {
  double sum = 0;
  double count = 0;
  for (std::size_t t = 0; t < expected.size(); ++t) {
    const auto& values = expected[t].result.log_probabilities;
    for (std::size_t i = 0; i < values.size(); ++i) {
      sum += std::abs(double{found[t].result.log_probabilities[i]} - values[i]);
    }
    count += static_cast<double>(values.size());
  }
  return sum / count;
}

/// Expects nearly equal probabilities and attention, and equal numbers of ponder steps.
inline void expect_same_results(const std::vector<GrownStep>& found, const std::vector<GrownStep>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t t = 0; t < expected.size(); ++t) {
    expect_near(found[t].result.log_probabilities, expected[t].result.log_probabilities, 1e-4f);
    expect_near(found[t].result.attention, expected[t].result.attention, 1e-5f);
    EXPECT_EQ(found[t].result.ponder_steps, expected[t].result.ponder_steps);
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace edgewise
