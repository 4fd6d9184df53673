// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/runtime/runtime_models.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

Transformer tutorial() { return random_model(small_options(TransformerPreset::kTutorial)); }

TEST(RuntimeModel, RefusesAFileThatLacksAParameterOrHasOneMore) {
  const Transformer model = tutorial();
  TransformerOptions deeper = model.options();
  deeper.decoder_layers = 3;
  EXPECT_EQ(error_of([&] { RuntimeModel(deeper, saved(model), "m.safetensors", RuntimePrecision::kFp32); }),
            "read_parameters: m.safetensors lacks decoder.layers.2.self_attention.query.weight");
  TransformerOptions flatter = model.options();
  flatter.decoder_layers = 1;
  EXPECT_EQ(error_of([&] { RuntimeModel(flatter, saved(model), "m.safetensors", RuntimePrecision::kFp32); }),
            "read_parameters: m.safetensors has decoder.layers.1.cross_attention.key.bias, which is not asked for");
}

TEST(RuntimeModel, RefusesAModelOfAnotherVocabulary) {
  const Transformer model = tutorial();
  TransformerOptions other = model.options();
  other.input_vocabulary = other.output_vocabulary = 12;
  EXPECT_EQ(error_of([&] { RuntimeModel(other, saved(model), "m.safetensors", RuntimePrecision::kInt8); }),
            "read_parameters: m.safetensors has input_embedding.weight as F32 [11, 8], F32 [12, 8] is needed");
}

TEST(RuntimeModel, RefusesToShowALayerOrHeadThatThereIsNot) {
  const RuntimeModel runtime = runtime_of(tutorial());
  EXPECT_EQ(error_of([&] { runtime.scorer({.layer = 2}); }),
            "RuntimeModel: attention's layer is 2, needs a number from -1 to 1");
  EXPECT_EQ(error_of([&] { runtime.scorer({.head = 2}); }),
            "RuntimeModel: attention's head is 2, needs a number from -1 to 1");
}

TEST(RuntimeScorer, RefusesWhatItCannotRead) {
  const RuntimeModel runtime = runtime_of(tutorial());
  const auto scorer = runtime.scorer();
  const std::vector<std::int64_t> places = {0};
  const std::vector<Tokens> empty = {{}};
  EXPECT_EQ(error_of([&] { scorer->read(places, empty); }), "read: input 0 is empty, needs at least one token");
  const std::vector<Tokens> unknown = {{4, 11}};
  EXPECT_EQ(error_of([&] { scorer->read(places, unknown); }), "read: token is 11, needs a number in [0, 11)");
}

TEST(RuntimeScorer, RefusesNodesThatCannotBe) {
  const RuntimeModel runtime = runtime_of(tutorial());
  const auto scorer = runtime.scorer();
  const std::vector<std::int64_t> places = {0};
  const std::vector<Tokens> inputs = {{4}};
  scorer->read(places, inputs);
  const auto step = [&](const NewNode& node) {
    const std::vector<NewNode> nodes = {node};
    StepRequest request;
    request.nodes = nodes;
    StepResult result;
    scorer->step(request, result);
  };
  EXPECT_EQ(error_of([&] {
              step({1, HypothesisTree::kRoot, 2});
            }),
            "step: place is 1, needs one into which an input was read");
  EXPECT_EQ(error_of([&] { step({0, 0, 2}); }), "step: parent is 0, needs kRoot or a number in [0, 0)");
  EXPECT_EQ(error_of([&] { step({0, HypothesisTree::kRoot, -1}); }), "step: token is -1, needs a number in [0, 11)");
}

}  // namespace
}  // namespace edgewise
