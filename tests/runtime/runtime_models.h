// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "edgewise/runtime/runtime_model.h"
#include "edgewise/nn/serialize.h"
#include "tests/models/small_models.h"

namespace edgewise {

template <class Model>
SafetensorsFile saved(const Model& model) {
  const std::string bytes = serialize_tensors(parameters(model));
  return SafetensorsFile::parse(std::as_bytes(std::span(bytes)), "model.safetensors");
}

template <class Model>
RuntimeModel runtime_of(const Model& model, RuntimePrecision precision = RuntimePrecision::kFp32) {
  return RuntimeModel(model.options(), saved(model), "model.safetensors", precision);
}

/// A model with random numbers for all parameters, in fp32.
inline Transformer random_model(const TransformerOptions& options) {
  Transformer model = small_model(options);
  convert_parameters(model, at::kFloat);
  return model;
}

/// Each way through the layers: the three documents' models, and options that none of them has.
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
  kinds.push_back(small_options(TransformerPreset::kTutorial));
  kinds.back().input_vocabulary = kinds.back().output_vocabulary = 1100;  // more than two tiles
  return kinds;
}

/// A step's nodes, and what was said of them.
struct GrownStep {
  std::vector<NewNode> nodes;
  StepResult result;
};

/// Reads inputs into places 0, 1, … and grows chains of tokens below a begin token, two branches a place, asking for
/// all log-probabilities.
inline std::vector<GrownStep> grow_branches(Scorer& scorer, const std::vector<Tokens>& inputs, std::int64_t num_steps) {
  std::vector<std::int64_t> places;
  for (std::size_t i = 0; i < inputs.size(); ++i) places.push_back(static_cast<std::int64_t>(i));
  scorer.read(places, inputs);
  std::vector<GrownStep> steps;
  for (std::int64_t t = 0; t < num_steps; ++t) {
    GrownStep& step = steps.emplace_back();
    for (const std::int64_t place : places) {
      const auto parent = [&](std::int64_t branch) {
        return static_cast<NodeIndex>(t == 0 ? HypothesisTree::kRoot : t == 1 ? 0 : 2 * t - 3 + branch);
      };
      step.nodes.push_back({place, parent(0), t == 0 ? 2 : 4 + (place + t) % 5});
      if (t > 0) step.nodes.push_back({place, parent(t == 3 ? 0 : 1), 5 + t % 4});  // a beam reorders in step 3
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

inline void expect_near(const std::vector<float>& found, const std::vector<float>& expected, float tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(found[i], expected[i], tolerance) << "at " << i;
}

/// Expects a scorer to say of each step what another says.
inline void expect_same_answers(const std::vector<GrownStep>& found, const std::vector<GrownStep>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t t = 0; t < expected.size(); ++t) {
    expect_near(found[t].result.log_probabilities, expected[t].result.log_probabilities, 1e-4f);
    expect_near(found[t].result.attention, expected[t].result.attention, 1e-5f);
    EXPECT_EQ(found[t].result.steps, expected[t].result.steps);
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace edgewise
