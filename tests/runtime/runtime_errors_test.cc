// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>

#include "tests/nn/stored_types.h"
#include "tests/runtime/runtime_models.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

Transformer tutorial() { return random_model(small_options(TransformerPreset::kTutorial)); }

TEST(RuntimeModel, RefusesAFileThatLacksAParameterOrHasAnUnknownOne) {
  const Transformer model = tutorial();
  TransformerOptions deeper = model.options();
  deeper.decoder_layers = 3;
  EXPECT_EQ(error_of([&] { RuntimeModel(deeper, parameter_file(model), "m.safetensors", RuntimePrecision::kFp32); }),
            "read_parameters: m.safetensors lacks \"decoder.layers.2.self_attention.query.weight\", needs exactly the "
            "tensors "
            "that the config describes; use the config and the file of one training");
  TransformerOptions flatter = model.options();
  flatter.decoder_layers = 1;
  EXPECT_EQ(error_of([&] { RuntimeModel(flatter, parameter_file(model), "m.safetensors", RuntimePrecision::kFp32); }),
            "read_parameters: m.safetensors has \"decoder.layers.1.cross_attention.key.bias\", which is not needed, "
            "needs exactly "
            "the tensors that the config describes; use the config and the file of one training");
}

TEST(RuntimeModel, RefusesAFileWithAnotherVocabularySize) {
  const Transformer model = tutorial();
  TransformerOptions other = model.options();
  other.input_vocabulary = other.output_vocabulary = 12;
  EXPECT_EQ(
      error_of([&] { RuntimeModel(other, parameter_file(model), "m.safetensors", RuntimePrecision::kInt8); }),
      "read_parameters: m.safetensors has \"input_embedding.weight\" as F32 [11, 8] instead of F32 [12, 8], needs "
      "exactly the tensors that the config describes; use the config and the file of one training");
}

TEST(RuntimeModel, IsPackedUntilARequestToStop) {
  const Transformer model = tutorial();
  StopRequest stop = false;
  for (const RuntimePrecision precision : {RuntimePrecision::kFp32, RuntimePrecision::kBf16, RuntimePrecision::kInt8}) {
    const auto pack = [&] { RuntimeModel(model.options(), parameter_file(model), "m.safetensors", precision, &stop); };
    stop = false;
    EXPECT_NO_THROW(pack());
    stop = true;
    EXPECT_THROW(pack(), StopException);
  }
}

TEST(RuntimeModel, RefusesToRecordALayerOrHeadThatDoesNotExist) {
  const RuntimeModel runtime = runtime_of(tutorial());
  EXPECT_EQ(error_of([&] { runtime.make_scorer({.layer = 2}); }),
            "RuntimeModel: attention's layer is 2, needs a number from -1 to 1");
  EXPECT_EQ(error_of([&] { runtime.make_scorer({.head = 2}); }),
            "RuntimeModel: attention's head is 2, needs a number from -1 to 1");
}

TEST(RuntimeScorer, RefusesAnEmptyInputAndAnUnknownToken) {
  const RuntimeModel runtime = runtime_of(tutorial());
  const auto scorer = runtime.make_scorer();
  const std::vector<std::int64_t> slots = {0};
  const std::vector<Tokens> empty = {{}};
  EXPECT_EQ(error_of([&] { scorer->encode(slots, empty); }), "encode: input 0 is empty, needs at least one token");
  const std::vector<Tokens> unknown = {{4, 11}};
  EXPECT_EQ(error_of([&] { scorer->encode(slots, unknown); }), "encode: token is 11, needs a number in [0, 11)");
}

TEST(RuntimeScorer, RefusesAPositionThatTheModelHasNotLearned) {
  TransformerOptions options = small_options(TransformerPreset::kTutorial);
  options.positions = PositionKind::kLearned;
  options.max_positions = 3;
  const RuntimeModel runtime = runtime_of(random_model(options));
  const auto scorer = runtime.make_scorer();
  const std::vector<std::int64_t> slots = {0};
  const std::string limit =
      ": a sentence has position 3, needs positions below model.max_positions, which is 3; shorten the sentence, for "
      "training by data.max_length";
  EXPECT_EQ(error_of([&] { scorer->encode(slots, std::vector<Tokens>{{4, 5, 6, 7}}); }), "encode" + limit);
  scorer->encode(slots, std::vector<Tokens>{{4, 5, 6}});
  NodeIndex parent = HypothesisTree::kRoot;
  const auto step = [&] {
    const std::vector<NewNode> nodes = {{0, parent, 4}};
    StepRequest request;
    request.nodes = nodes;
    StepResult result;
    scorer->step(request, result);
    ++parent;
  };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(error_of(step), "no error");
  EXPECT_EQ(error_of(step), "step" + limit);
}

TEST(RuntimeModel, RefusesAMatrixOfEightBitsWithoutScalesAndAVectorOfEightBits) {
  const Transformer model = tutorial();
  const auto error_with = [&](const std::function<void(StoredTensorList&, const NamedTensor&)>& store) {
    StoredTensorList file;
    for (const NamedTensor& named : parameters(model)) store(file, named);
    return error_of([&] { RuntimeModel(model.options(), file.file(), "m", RuntimePrecision::kInt8); });
  };
  const std::string end =
      ", needs exactly the tensors that the config describes; use the config and the file of one "
      "training";
  EXPECT_EQ(error_with([](StoredTensorList& file, const NamedTensor& named) {
              if (named.tensor.dim() == 2) return file.add(named.name, DType::kI8, named.tensor.to(at::kChar));
              file.add(named.name, DType::kF32, named.tensor.detach());
            }),
            "read_parameters: m lacks \"input_embedding.weight.scale\"" + end);
  EXPECT_EQ(error_with([](StoredTensorList& file, const NamedTensor& named) {
              if (named.tensor.dim() == 1) return file.add(named.name, DType::kI8, named.tensor.to(at::kChar));
              file.add(named.name, DType::kF32, named.tensor.detach());
            }),
            "read_parameters: m has \"generator.bias\" as I8 [11] instead of F32 [11]" + end);
}

TEST(RuntimeScorer, RefusesANodeWithoutInputOrParentOrWithAnUnknownToken) {
  const RuntimeModel runtime = runtime_of(tutorial());
  const auto scorer = runtime.make_scorer();
  const std::vector<std::int64_t> slots = {0};
  const std::vector<Tokens> inputs = {{4}};
  scorer->encode(slots, inputs);
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
            "step: slot is 1, needs one that holds an input; call encode first");
  EXPECT_EQ(error_of([&] { step({0, 0, 2}); }), "step: parent is 0, needs kRoot or a number in [0, 0)");
  EXPECT_EQ(error_of([&] { step({0, HypothesisTree::kRoot, -1}); }), "step: token is -1, needs a number in [0, 11)");
}

}  // namespace
}  // namespace edgewise
