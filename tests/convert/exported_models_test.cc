// SPDX-License-Identifier: Apache-2.0
// A model that is exported and imported again is the same model.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "edgewise/base/config/config.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/files/json_settings.h"
#include "edgewise/convert/exported_model.h"
#include "edgewise/convert/imported_model.h"
#include "edgewise/positions/position_formula.h"
#include "tests/base/support.h"
#include "tests/convert/learned_model.h"
#include "tests/convert/marian_twin.h"
#include "tests/convert/model_folders.h"
#include "tests/convert/trainable_model.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCaller = "test";

/// Imports a model and returns the model directory `name` in a folder.
fs::path import_to(const fs::path& source, const TemporaryFolder& folder, std::string_view name) {
  const fs::path model = folder / name;
  write_model(import_model(source, kCaller), model, kCaller);
  return model;
}

/// Exports a model directory, imports the result, and returns the new model directory.
fs::path export_and_import(const fs::path& model, ExportFormat format, const TemporaryFolder& folder) {
  const fs::path exported = folder / "exported";
  export_model(read_model_files(model, kCaller), format, exported, kCaller);
  return import_to(exported, folder, "imported");
}

/// Returns the input tokens of a sentence, which has one part.
Tokens tokens_of(const std::string& sentence, const ModelFiles& model) {
  return model.codec.encode({.input = sentence}).parts.at(0).input.tokens;
}

std::map<std::string, std::string> files_of(const fs::path& directory) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(directory)) {
    files[entry.path().filename().string()] = read_file(entry.path(), kCaller);
  }
  return files;
}

class ExportedModelTest : public testing::TestWithParam<std::string> {
 protected:
  const TemporaryFolder folder_;
  const fs::path model_ = import_to(folder_of_models() / GetParam(), folder_, "model");
};

TEST_P(ExportedModelTest, HuggingFaceFilesAreImportedAsTheSameFiles) {
  const auto found = files_of(export_and_import(model_, ExportFormat::kHuggingFace, folder_));
  for (const auto& [name, bytes] : files_of(model_)) {
    ASSERT_TRUE(found.contains(name)) << name;
    EXPECT_TRUE(found.at(name) == bytes) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, ExportedModelTest, testing::ValuesIn(list_models()),
                         [](const auto& given) { return std::string(given.param); });

/// Returns the models of transformers that have a twin in Marian; make_models zeroes their padding.
std::vector<std::string> list_marian_models() {
  std::vector<std::string> names = list_models();
  std::erase_if(names, [](const std::string& name) {
    const JsonSettings config = JsonSettings::read(folder_of_models() / name / "config.json", kCaller);
    const bool fits = config.text("model_type") == "marian" && config.text("activation_function") != "gelu" &&
                      config.boolean("scale_embedding") == true;
    return !fits;
  });
  return names;
}

class MarianTwinTest : public ExportedModelTest {};

TEST_P(MarianTwinTest, NpzAndHuggingFaceDirectoryAreImportedWithTheSameBitsExceptTheBiasOfPadding) {
  const ImportedModel original = import_model(folder_of_models() / GetParam(), kCaller);
  write_model(marian_twin(original), folder_ / "twin", kCaller);
  const fs::path twin = export_and_import(folder_ / "twin", ExportFormat::kMarian, folder_);
  ImportedModel expected = original;
  set_last_output_bias(expected, kPaddingBias);
  EXPECT_TRUE(read_file(twin / kParametersFile, kCaller) == serialize_safetensors(expected.parameters.tensors));
  const ModelFiles before = read_model_files(model_, kCaller);
  const ModelFiles after = read_model_files(twin, kCaller);
  EXPECT_EQ(settings_of(after.experiment.search), settings_of(marian_twin(original).experiment.search));
  EXPECT_TRUE(have_same_files(*after.codec.vocabularies.input, *before.codec.vocabularies.input));
  EXPECT_TRUE(have_same_files(*after.codec.vocabularies.output, *before.codec.vocabularies.output));
  expect_trainable(twin);
}

INSTANTIATE_TEST_SUITE_P(All, MarianTwinTest, testing::ValuesIn(list_marian_models()),
                         [](const auto& given) { return std::string(given.param); });

TEST(ExportTest, FixturesHaveModelsOfMarian) {
  if (std::getenv("EDGEWISE_MODELS") == nullptr) {
    EXPECT_GE(list_marian_models().size(), 2U);
  }
}

struct Refusal {
  std::function<void(Experiment&)> change;
  std::string error;
};

class LearnedModelTest : public testing::Test {
 protected:
  ModelFiles write(const LearnedModel& model) {
    write_model(model.model(), folder_ / "model", kCaller);
    return read_model_files(folder_ / "model", kCaller);
  }

  ModelFiles export_and_read(const LearnedModel& model) {
    write(model);
    return read_model_files(export_and_import(folder_ / "model", ExportFormat::kHuggingFace, folder_), kCaller);
  }

  /// Applies each change to the model, and compares the errors of exporting it.
  void expect_refusals(ModelFiles files, ExportFormat format, const std::vector<Refusal>& refusals) const {
    const Experiment kept = files.experiment;
    for (const auto& [change, error] : refusals) {
      files.experiment = kept;
      change(files.experiment);
      EXPECT_EQ(error_of([&] { export_model(files, format, folder_ / "refused", kCaller); }), "test: " + error);
      EXPECT_FALSE(fs::exists(folder_ / "refused"));
    }
  }

  const TemporaryFolder folder_;
};

TEST_F(LearnedModelTest, HuggingFaceFilesHaveTheParametersAndTokensOfALearnedModel) {
  const LearnedModel model;
  const ModelFiles before = write(model);
  const ModelFiles after = export_and_read(model);
  for (const TensorInfo& tensor : before.parameters.tensors()) {
    const TensorInfo* found = after.parameters.find(tensor.name);
    ASSERT_NE(found, nullptr) << tensor.name;
    EXPECT_EQ(found->dtype, tensor.dtype);
    EXPECT_TRUE(std::ranges::equal(found->bytes, tensor.bytes)) << tensor.name;
  }
  EXPECT_EQ(after.parameters.tensors().size(), before.parameters.tensors().size());
  for (const std::string& sentence : model.sentences()) {
    EXPECT_EQ(tokens_of(sentence, after), tokens_of(sentence, before));
  }
}

TEST_F(LearnedModelTest, AttentionWithoutBiasesGetsZeros) {
  LearnedModel model;
  model.options().attention_bias = false;
  const ModelFiles after = export_and_read(model);
  const TensorInfo* bias = after.parameters.find("decoder.layers.0.cross_attention.key.bias");
  ASSERT_NE(bias, nullptr);
  EXPECT_TRUE(std::ranges::all_of(bias->bytes, [](std::byte byte) { return byte == std::byte{0}; }));
}

TEST_F(LearnedModelTest, OtherPositionsThanHalvesBecomeATable) {
  LearnedModel model;
  model.options().positions = PositionKind::kSinusoidal;
  const ModelFiles after = export_and_read(model);
  EXPECT_EQ(after.experiment.model.positions, PositionKind::kLearned);
  const PositionFormula formula(model.options().size, PositionKind::kSinusoidal);
  std::vector<float> row(static_cast<std::size_t>(model.options().size));
  formula.write(5, row.data());
  const std::vector<float> table = to_floats(*after.parameters.find("output_positions.weight"), kCaller);
  EXPECT_TRUE(std::equal(row.begin(), row.end(), table.begin() + 5 * model.options().size));
}

TEST_F(LearnedModelTest, IntegersOf8BitsBecomeTheirValues) {
  LearnedModel model;
  model.quantize("encoder.layers.0.feed_forward.inner.weight", 0.5F);
  const ModelFiles before = write(model);
  const ModelFiles after = export_and_read(model);
  const TensorInfo& stored = *before.parameters.find("encoder.layers.0.feed_forward.inner.weight");
  const std::vector<float> values = to_floats(*after.parameters.find(stored.name), kCaller);
  ASSERT_EQ(values.size(), stored.bytes.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(values[i], 0.5F * static_cast<float>(static_cast<std::int8_t>(stored.bytes[i])));
  }
}

TEST_F(LearnedModelTest, OptionsThatTheOtherSystemLacksAreRefusedByName) {
  const std::vector<Refusal> refusals = {
      {[](Experiment& e) { e.model.score = ScoreKind::kAdditive; }, "model.score is additive, needs dot"},
      {[](Experiment& e) { e.model.exits.layers = {1}; }, "model.exits.layers is a list, needs []"},
      {[](Experiment& e) { e.model.clamp = 5; }, "model.clamp is 5, needs no limit"},
      {[](Experiment& e) { e.model.kind = ModelKind::kUniversal; }, "model.kind is universal, needs transformer"},
      {[](Experiment& e) { e.model.norm = NormKind::kStdNorm; }, "model.norm is std_norm, needs layer_norm"},
      {[](Experiment& e) { e.model.norm = NormKind::kRmsNorm; }, "model.norm is rms_norm, needs layer_norm"},
      {[](Experiment& e) { e.model.norm_bias = false; }, "model.norm_bias is false, needs true"},
      {[](Experiment& e) { e.model.feed_forward_bias = false; }, "model.feed_forward_bias is false, needs true"},
      {[](Experiment& e) { e.model.output_bias = false; }, "model.output_bias is false, needs true"},
      {[](Experiment& e) { e.model.feed_forward_gate = true; }, "model.feed_forward_gate is true, needs false"},
      {[](Experiment& e) { e.model.key_value_heads = 1; }, "model.key_value_heads is 1, needs 0"},
      {[](Experiment& e) { e.model.positions = PositionKind::kRotary; },
       "model.positions is rotary, needs position vectors"},
      {[](Experiment& e) { e.model.activation = Activation::kGeluTanh; },
       "model.activation is gelu_tanh, needs relu, gelu or silu"},
      {[](Experiment& e) { e.model.norm_epsilon = 1e-6; }, "model.norm_epsilon is 1e-06, needs 1e-05"},
      {[](Experiment& e) { e.vocabulary.output_case = CaseKind::kLower; },
       "vocabulary.output_case is lower, needs keep"},
      {[](Experiment& e) { e.model.norm_placement = NormPlacement::kPre; },
       "model.norm_placement is pre with final_norm false, needs post with final_norm false (MarianMT), or pre with "
       "final_norm true (M2M-100)"},
      {[](Experiment& e) {
         e.model.norm_placement = NormPlacement::kPre;
         e.model.final_norm = true;
       },
       "model.positions is halves, needs fairseq for a pre-norm model, which becomes M2M-100; a post-norm model may "
       "have "
       "any positions"},
      {[](Experiment& e) {
         e.model.norm_placement = NormPlacement::kPre;
         e.model.final_norm = true;
         e.model.positions = PositionKind::kFairseq;
       },
       "the vocabularies have no languages or are not equal, needs those of an M2M-100 or NLLB-200 model; train with "
       "model.norm_placement=post, model.final_norm=false for MarianMT"},
  };
  expect_refusals(write(LearnedModel()), ExportFormat::kHuggingFace, refusals);
}

TEST_F(LearnedModelTest, OptionsThatMarianLacksAreRefusedByName) {
  const std::vector<Refusal> refusals = {
      {[](Experiment& e) { e.model.score = ScoreKind::kAdditive; }, "model.score is additive, needs dot"},
      {[](Experiment& e) { e.model.norm_placement = NormPlacement::kPre; },
       "model.norm_placement is pre, needs post, because Marian computes pre-norm models in another way when it "
       "translates than in training"},
      {[](Experiment& e) { e.model.final_norm = true; },
       "model.final_norm is true, needs false with norm_placement post"},
      {[](Experiment& e) { e.model.norm_epsilon = 1e-5; }, "model.norm_epsilon is 1e-05, needs 1e-06, as Marian has"},
      {[](Experiment& e) { e.model.activation = Activation::kGelu; },
       "model.activation is gelu, needs relu or silu, because Marian's gelu is x * sigmoid(1.702 x), another function"},
      {[](Experiment& e) { e.model.scale_embedding = false; },
       "model.scale_embedding is false, needs true, because Marian multiplies by sqrt(size)"},
      {[](Experiment& e) { e.model.positions = PositionKind::kLearned; }, "model.positions is learned, needs marian"},
      {[](Experiment& e) { e.model.share_layers = true; }, "model.share_layers is true, needs false"},
      {[](Experiment& e) { e.model.log_scale = true; }, "model.log_scale is true, needs false"},
      {[](Experiment& e) { e.model.mirror_positions = true; }, "model.mirror_positions is true, needs false"},
      {[](Experiment& e) { e.model.begin_embedding = BeginEmbedding::kLearned; },
       "model.begin_embedding is learned, needs zero, because Marian begins outputs with a vector of zeros"},
      {[](Experiment& e) { e.data.end_input = false; },
       "data.end_input is false, needs true, because Marian ends each input with the end token; train with "
       "data.end_input=true"},
  };
  LearnedModel model;
  model.use_marian();
  expect_refusals(write(model), ExportFormat::kMarian, refusals);
}

TEST_F(LearnedModelTest, MarianFilesHaveTheParametersAndTokensOfALearnedModel) {
  LearnedModel model;
  model.use_marian();
  const ModelFiles before = write(model);
  const ModelFiles after =
      read_model_files(export_and_import(folder_ / "model", ExportFormat::kMarian, folder_), kCaller);
  for (const TensorInfo& tensor : before.parameters.tensors()) {
    SCOPED_TRACE(tensor.name);
    const std::vector<float> values = to_floats(tensor, kCaller);
    std::vector<float> found = to_floats(*after.parameters.find(tensor.name), kCaller);
    const bool has_padding = found.size() > values.size();  // in another row
    EXPECT_EQ(has_padding, tensor.name == "input_embedding.weight" || tensor.name == "generator.bias");
    found.resize(values.size());
    EXPECT_EQ(found, values);
  }
  for (const std::string& sentence : model.sentences()) {
    EXPECT_EQ(tokens_of(sentence, after), tokens_of(sentence, before));
  }
  const SentenceRules& rules = after.codec.vocabularies.output->rules();
  EXPECT_EQ(rules.forbidden, (std::vector<std::int64_t>{0, 1, 2, after.codec.vocabularies.output->size() - 1}));
  EXPECT_EQ(rules.special.end, before.codec.vocabularies.output->special().end);
}

TEST_F(LearnedModelTest, MarianFilesKeepTheBytesOfAVocabulary) {
  LearnedModel model;
  model.use_bytes();
  model.use_marian();
  const ModelFiles before = write(model);
  const ModelFiles after =
      read_model_files(export_and_import(folder_ / "model", ExportFormat::kMarian, folder_), kCaller);
  const std::string text = "a \u732b sings";
  EXPECT_EQ(tokens_of(text, after), tokens_of(text, before));
  const Vocabulary& vocabulary = *after.codec.vocabularies.output;
  EXPECT_EQ(vocabulary.decode(before.codec.vocabularies.output->encode(text)), text);
}

TEST_F(LearnedModelTest, ABeginTokenWithAnEmbeddingIsRefusedIfTheConfigCallsTheEmbeddingZero) {
  ImportedModel model = LearnedModel().model();
  model.experiment.model.begin_embedding = BeginEmbedding::kZero;
  write_model(model, folder_ / "model", kCaller);
  EXPECT_EQ(error_of([&] { read_model_files(folder_ / "model", kCaller); }),
            fmt::format("test: {} has elements other than 0 for the begin token 2 in \"input_embedding.weight\", needs "
                        "0 with model.begin_embedding=zero; set model.begin_embedding=learned in config.toml",
                        (folder_ / "model" / kParametersFile).string()));
}

TEST_F(LearnedModelTest, ABeginTokenThatOutputsMayContainNeedsAnEmbedding) {
  ImportedModel model = import_model(folder_of_models() / "m2m100_1", kCaller);
  model.experiment.model.begin_embedding = BeginEmbedding::kZero;
  write_model(model, folder_ / "model", kCaller);
  EXPECT_EQ(error_of([&] { read_model_files(folder_ / "model", kCaller); }),
            "Transformer: begin_embedding is zero, needs a vocabulary whose outputs cannot contain the begin token "
            "\"</s>\"");
}

TEST_F(LearnedModelTest, WordsAreRefusedForMarian) {
  LearnedModel model;
  model.use_marian();
  model.use_words();
  const ModelFiles files = write(model);
  EXPECT_EQ(error_of([&] { export_marian(files, kCaller); }),
            "test: vocabulary.kind is words, needs sentencepiece, or mapped as in an import");
}

TEST_F(LearnedModelTest, InputsWithoutEndTokenAreRefused) {
  LearnedModel model;
  model.experiment().data.end_input = false;
  const ModelFiles files = write(model);
  EXPECT_EQ(error_of([&] { export_hugging_face(files, kCaller); }),
            "test: data.end_input is false, needs true, because MarianTokenizer ends each input with the end token; "
            "train with data.end_input=true");
}

TEST_F(LearnedModelTest, WordsWithoutSentencePieceAreRefused) {
  LearnedModel model;
  model.use_words();
  const ModelFiles files = write(model);
  EXPECT_EQ(error_of([&] { export_hugging_face(files, kCaller); }),
            "test: vocabulary.kind is words, needs sentencepiece or mapped, because MarianTokenizer splits text by "
            "SentencePiece models");
}

TEST(ExportTest, PaddingWithAProbabilityIsRefusedForMarian) {
  const TemporaryFolder folder;
  ImportedModel model = marian_twin(import_model(folder_of_models() / list_marian_models().front(), kCaller));
  set_last_output_bias(model, 0);
  write_model(model, folder / "model", kCaller);
  const ModelFiles files = read_model_files(folder / "model", kCaller);
  EXPECT_EQ(error_of([&] { export_marian(files, kCaller); }),
            fmt::format("test: generator.bias has other elements than -8192 for token {}, needs -8192, because Marian "
                        "has no such token",
                        files.codec.vocabularies.output->size() - 1));
}

TEST(ExportTest, OutputBiasIsRefusedForM2m100) {
  const TemporaryFolder folder;
  ImportedModel model = import_model(folder_of_models() / "m2m100_1", kCaller);
  set_last_output_bias(model, 0.5F);
  write_model(model, folder / "model", kCaller);
  const ModelFiles files = read_model_files(folder / "model", kCaller);
  EXPECT_EQ(error_of([&] { export_hugging_face(files, kCaller); }),
            "test: generator.bias has elements other than 0, needs 0, as M2M-100 has none");
}

}  // namespace
}  // namespace edgewise
