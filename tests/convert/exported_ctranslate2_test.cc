// SPDX-License-Identifier: Apache-2.0
// export_ctranslate2 writes models that CTranslate2 reads (ctranslate2_models/check_export) and import_model too.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "edgewise/base/files/stored_parameters.h"
#include "edgewise/convert/ctranslate2_model.h"
#include "edgewise/convert/exported_model.h"
#include "edgewise/convert/imported_model.h"
#include "edgewise/convert/tensor_layout.h"
#include "edgewise/text/vocabulary/sentence_case.h"
#include "tests/base/support.h"

namespace edgewise {
namespace {

Experiment small_experiment() {
  Experiment experiment;
  TransformerOptions& model = experiment.model;
  model.size = 8;
  model.heads = 2;
  model.feed_forward = 12;
  model.encoder_layers = 2;
  model.decoder_layers = 1;
  model.max_positions = 20;
  experiment.vocabulary.shared = true;
  return experiment;
}

/// Makes parameters of a type with random values; matrices of I8 get scales.
StoredTensors random_parameters(const TransformerOptions& options, DType dtype) {
  StoredTensors tensors;
  std::minstd_rand random(7);
  const auto draw = [&](std::size_t size) {
    std::string bytes(size, '\0');
    // The highest byte of a number is small, so that none is infinite.
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(random() % (i % 2 == 1 ? 0x60 : 0x100));
    return bytes;
  };
  const auto add = [&](const std::string& name, DType type, const std::vector<std::int64_t>& shape) {
    const std::string_view bytes = tensors.keep(draw(checked_byte_size(type, shape, name)));
    tensors.tensors.push_back({name, type, shape, bytes_of(bytes)});
  };
  for (const ParameterShape& parameter : list_parameters(options)) {
    const bool is_int8 = dtype == DType::kI8 && parameter.shape.size() == 2;
    add(parameter.name, dtype == DType::kI8 && !is_int8 ? DType::kF32 : dtype, parameter.shape);
    if (is_int8) add(parameter.name + ".scale", DType::kF32, {parameter.shape[0]});
  }
  return tensors;
}

ModelFiles make_files(Experiment experiment, Vocabularies vocabularies, DType dtype = DType::kF32) {
  if (experiment.vocabulary.shared) vocabularies.input = vocabularies.output;
  experiment.model = transformer_options(experiment, vocabularies);
  const StoredTensors parameters = random_parameters(experiment.model, dtype);
  return {.experiment = experiment,
          .codec = text_codec(experiment, vocabularies),
          .parameters = SafetensorsFile::parse(serialize_safetensors(parameters.tensors), "parameters"),
          .parameters_name = "parameters",
          .config = ""};
}

ModelFiles make_files(const Experiment& experiment, DType dtype = DType::kF32) {
  const std::vector<std::string> inputs = {"a b c d"}, outputs = {"e \"f\" g"};
  return make_files(experiment, {build_vocabulary({inputs}), build_vocabulary({outputs})}, dtype);
}

ImportedModel import_files(const std::map<std::string, std::string>& files) {
  const TemporaryFolder folder;
  for (const auto& [name, bytes] : files) std::ofstream(folder / name, std::ios::binary) << bytes;
  return import_model(folder.path(), "test");
}

std::vector<float> values_of(const SafetensorsFile& file, const TensorInfo& tensor) {
  std::size_t count = 1;
  for (const std::int64_t dimension : tensor.shape) count *= static_cast<std::size_t>(dimension);
  std::vector<float> values(count);
  read_values(file, tensor, values);
  return values;
}

/// Checks that a model is the same after exporting and importing.
void expect_survives(const Experiment& experiment, DType dtype) {
  const ModelFiles model = make_files(experiment, dtype);
  const ImportedModel found = import_files(export_ctranslate2(model, "test"));
  const TransformerOptions& expected = model.experiment.model;
  const TransformerOptions& options = found.experiment.model;
  EXPECT_EQ(options.norm_placement, expected.norm_placement);
  EXPECT_EQ(options.final_norm, expected.final_norm);
  EXPECT_EQ(options.norm_epsilon, expected.norm_epsilon);
  EXPECT_EQ(options.activation, expected.activation);
  EXPECT_EQ(options.attention_bias, expected.attention_bias);
  EXPECT_EQ(options.scale_embedding, expected.scale_embedding);
  EXPECT_EQ(options.tying, expected.tying);
  EXPECT_EQ(options.heads, expected.heads);
  if (expected.positions != PositionKind::kFromScratch) {
    EXPECT_EQ(options.positions, expected.positions);
    const auto parameters =
        SafetensorsFile::parse(serialize_safetensors(found.parameters.tensors), "the imported model");
    EXPECT_EQ(parameters.tensors().size(), list_parameters(expected).size());
    for (const ParameterShape& parameter : list_parameters(expected)) {
      const TensorInfo* tensor = parameters.find(parameter.name);
      ASSERT_NE(tensor, nullptr) << parameter.name;
      EXPECT_EQ(values_of(parameters, *tensor), values_of(model.parameters, *model.parameters.find(parameter.name)));
    }
  }
  EXPECT_EQ(found.experiment.data.end_input, model.experiment.data.end_input);
  EXPECT_EQ(found.experiment.vocabulary.shared, model.experiment.vocabulary.shared);
  const Vocabulary& output = *found.vocabularies.output;
  EXPECT_EQ(output.special(), model.codec.vocabularies.output->special());
  EXPECT_EQ(output.encode("e \"f\" h"), model.codec.vocabularies.output->encode("e \"f\" h"));
}

TEST(ExportCtranslate2, WritesModelsThatImportCtranslate2Reads) {
  constexpr PositionKind kPositions[] = {PositionKind::kSinusoidal, PositionKind::kFromScratch, PositionKind::kHalves,
                                         PositionKind::kMarian,     PositionKind::kFairseq,     PositionKind::kLearned};
  constexpr Activation kActivations[] = {Activation::kRelu, Activation::kGelu, Activation::kSilu};
  constexpr DType kTypes[] = {DType::kF32, DType::kBF16, DType::kF16, DType::kI8};
  for (int i = 0; i < 60; ++i) {
    SCOPED_TRACE(i);
    Experiment experiment = small_experiment();
    TransformerOptions& model = experiment.model;
    model.positions = kPositions[i / 2 % 6];
    model.activation = kActivations[i % 3];
    model.norm_placement = i % 4 < 2 ? NormPlacement::kPre : NormPlacement::kPost;
    model.final_norm = i % 2 == 0;
    model.norm_epsilon = i % 7 == 0 ? 1e-6 : 1e-5;
    model.attention_bias = i % 3 != 0;
    model.scale_embedding = i % 8 < 4;
    model.tying = i % 3 == 0 ? Tying::kAll : i % 3 == 1 ? Tying::kOutput : Tying::kNone;
    experiment.vocabulary.shared = model.tying == Tying::kAll || i % 2 == 0;
    experiment.data.end_input = i % 5 < 2;
    expect_survives(experiment, kTypes[i % 4]);
  }
}

TEST(ExportCtranslate2, WritesTheVariablesOfATransformerSpec) {
  const auto files = export_ctranslate2(make_files(small_experiment()), "test");
  const Ctranslate2Model model = parse_ctranslate2(files.at("model.bin"), "model.bin");
  EXPECT_EQ(model.specification, "TransformerSpec");
  EXPECT_EQ(model.revision, 7U);
  const auto text = [](const Ctranslate2Alias& alias) { return alias.name + " = " + alias.variable; };
  std::vector<std::string> aliases;
  std::ranges::transform(model.aliases, std::back_inserter(aliases), text);
  EXPECT_EQ(aliases,
            (std::vector<std::string>{"decoder/embeddings/weight = encoder/embeddings_0/weight",
                                      "decoder/projection/weight = encoder/embeddings_0/weight",
                                      "encoder/position_encodings/encodings = decoder/position_encodings/encodings"}));
  TensorLookup variables(model.variables.tensors, "model.bin");
  EXPECT_EQ(to_whole_number(variables.get("encoder/num_heads"), ""), 2);
  EXPECT_EQ(to_whole_number(variables.get("decoder/pre_norm"), ""), 1);
  EXPECT_EQ(to_whole_number(variables.get("decoder/scale_embeddings"), ""), 1);
  EXPECT_EQ(variables.get("decoder/position_encodings/encodings").shape, (std::vector<std::int64_t>{1024, 8}));
  EXPECT_EQ(variables.get("encoder/layer_1/self_attention/linear_0/weight").shape, (std::vector<std::int64_t>{24, 8}));
  EXPECT_EQ(files.at("config.json"),
            "{\"add_source_bos\": false, \"add_source_eos\": false, \"bos_token\": \"<begin>\", "
            "\"decoder_start_token\": \"<begin>\", \"eos_token\": \"<end>\", \"layer_norm_epsilon\": 1e-05, "
            "\"unk_token\": \"<unknown>\"}\n");
  EXPECT_EQ(files.at("shared_vocabulary.json"),
            "[\"<pad>\", \"<unknown>\", \"<begin>\", \"<end>\", \"\\\"f\\\"\", \"e\", \"g\"]\n");
  EXPECT_EQ(files.size(), 3U);
}

TEST(ExportCtranslate2, HasTheSentencePieceModelThatSplitsTexts) {
  const std::vector<std::string> sentences = {"the cat and the dog", "A dog and a cat"};
  const auto pieces = build_vocabulary({sentences}, {.kind = VocabularyKind::kSentencePiece, .size = 18});
  Experiment experiment = small_experiment();
  const auto files = export_ctranslate2(make_files(experiment, {pieces, pieces}), "test");
  EXPECT_EQ(files.at("sentencepiece.model"), pieces->serialize());
  const ImportedModel found = import_files(files);
  EXPECT_EQ(found.vocabularies.input->encode("the dog"), pieces->encode("the dog"));
  EXPECT_EQ(found.vocabularies.output->decode(pieces->encode("a cat")), "a cat");

  const auto lowered = with_case(pieces, SentenceCase::learn(CaseKind::kLower, sentences));
  experiment.vocabulary.input_case = CaseKind::kLower;
  experiment.vocabulary.shared = false;
  const auto lowered_files = export_ctranslate2(make_files(experiment, {lowered, pieces}), "test");
  EXPECT_FALSE(lowered_files.contains("source.spm") || lowered_files.contains("sentencepiece.model"));
}

TEST(ExportCtranslate2, RefusesOptionsThatCtranslate2DoesNotHave) {
  const auto error = [](const auto& alter) {
    Experiment experiment = small_experiment();
    ModelFiles model = make_files(experiment);
    alter(model.experiment.model);
    return error_of([&] { export_ctranslate2(model, "export"); });
  };
  EXPECT_EQ(error([](TransformerOptions& model) { model.norm = NormKind::kStdNorm; }),
            "export: model.norm is std_norm, needs layer_norm");
  EXPECT_EQ(error([](TransformerOptions& model) { model.score = ScoreKind::kAdditive; }),
            "export: model.score is additive, needs dot");
  EXPECT_EQ(error([](TransformerOptions& model) { model.clamp = 5; }), "export: model.clamp is 5, needs no limit");
  EXPECT_EQ(error([](TransformerOptions& model) { model.kind = ModelKind::kUniversal; }),
            "export: model.kind is universal, needs transformer");
}

}  // namespace
}  // namespace edgewise
