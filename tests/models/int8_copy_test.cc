// SPDX-License-Identifier: Apache-2.0
#include "edgewise/nn/int8_copy.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "edgewise/models/sequence_model.h"
#include "edgewise/models/universal_transformer.h"
#include "tests/models/small_models.h"
#include "tests/models/universal_models.h"
#include "tests/nn/convert_parameters.h"

namespace edgewise {
namespace {

BatchLoss loss_in_training(const SequenceModel& model, bool has_int8) {
  Pass pass = Pass::training(1);
  if (has_int8) pass.set_int8();
  return model.loss(small_batch(), {.smoothing = 0.1}, /*added=*/{}, pass);
}

std::vector<TransformerOptions> int8_options() {
  std::vector<TransformerOptions> all;
  for (const auto& [name, options] : options_without_preset()) all.push_back(options);
  for (const auto& tying : enum_names(Tying{})) {
    all.push_back(small_options(TransformerPreset::kTutorial));
    all.back().tying = tying.value;
    all.back().decoder_mixer = DecoderMixer::kSsru;
  }
  return all;
}

// The definition of the gradient: that of a model whose parameters are the rounded numbers, and whose products round
// their inputs.
TEST(Int8Copy, HasTheLossAndTheGradientsOfAModelWithTheRoundedParameters) {
  for (const TransformerOptions& options : int8_options()) {
    const auto model = make_model(options, 3);
    const BatchLoss found = loss_in_training(*model, /*has_int8=*/true);
    found.objective.backward();

    Transformer rounded = int8_copy(Transformer(options, 3));
    convert_parameters(rounded, at::kFloat);  // makes leaves of the rounded numbers
    Pass pass = Pass::training(1);
    const BatchLoss expected = rounded.loss(small_batch(), {.smoothing = 0.1}, {}, pass);
    expected.objective.backward();

    EXPECT_EQ(found.objective.item<float>(), expected.objective.item<float>());
    EXPECT_NE(found.objective.item<float>(), loss_in_training(*model, false).objective.item<float>());
    const std::vector<NamedTensor> expected_parameters = parameters(rounded);
    const std::vector<NamedTensor> found_parameters = model->parameters();
    ASSERT_EQ(found_parameters.size(), expected_parameters.size());
    for (std::size_t i = 0; i < found_parameters.size(); ++i) {
      SCOPED_TRACE(found_parameters[i].name);
      expect_close(found_parameters[i].tensor.grad(), expected_parameters[i].tensor.grad(), 1e-5);
    }
  }
}

TEST(Int8Copy, ComputesFeedForwardWithRoundedWeightsAndInputs) {
  TransformerOptions options = small_options(TransformerPreset::kTutorial);
  RandomStream random(5);
  for (const bool has_gate : {false, true}) {
    options.feed_forward_gate = has_gate;
    const EncoderLayer layer(options, random);
    const EncoderLayer copy = int8_copy(layer);
    const at::Tensor x = random_tensor({6, options.size}, 8, at::kFloat);
    Pass pass = Pass::inference();

    const auto multiply = [](const at::Tensor& input, const Linear& linear) {
      return at::linear(round_to_int8_plain(input), round_to_int8_plain(linear.weight), linear.bias);
    };
    const FeedForward& parts = layer.feed_forward;
    const at::Tensor inner = multiply(x, parts.inner);
    const at::Tensor activated = has_gate ? multiply(x, parts.gate).relu() * inner : inner.relu();
    expect_close(copy.feed_forward(x, pass), multiply(activated, parts.outer), 1e-5);
  }
}

TEST(Int8Copy, RoundsWhatIsStoredIn8BitsAndNothingElse) {
  const UniversalTransformer model = universal_model(universal_options());
  const UniversalTransformer copy = int8_copy(model);
  const std::vector<NamedTensor> before = parameters(model);
  const std::vector<NamedTensor> after = parameters(copy);
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    const bool is_matrix = is_stored_in_8_bits(before[i].name, static_cast<std::size_t>(before[i].tensor.dim()));
    EXPECT_EQ(after[i].tensor.is_same(before[i].tensor), !is_matrix) << before[i].name;
  }
  EXPECT_FALSE(copy.encoder().halting.linear.rounds_input);
  EXPECT_TRUE(copy.encoder().layer.feed_forward.inner.rounds_input);
  EXPECT_FALSE(model.encoder().layer.feed_forward.inner.rounds_input);
}

}  // namespace
}  // namespace edgewise
