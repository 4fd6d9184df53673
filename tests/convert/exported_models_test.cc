// SPDX-License-Identifier: Apache-2.0
// A model that is exported and imported again is the same model.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "edgewise/base/files.h"
#include "edgewise/convert/exported_model.h"
#include "edgewise/convert/imported_model.h"
#include "edgewise/convert/json_settings.h"
#include "edgewise/options/position_formula.h"
#include "tests/base/support.h"
#include "tests/convert/learned_model.h"
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

/// Returns the models that Marian can have; make_models zeroes their padding.
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

TEST_P(MarianTwinTest, NpzAndHuggingFaceDirectoryAreImportedWithTheSameBits) {
  const fs::path twin = export_and_import(model_, ExportFormat::kMarian, folder_);
  EXPECT_TRUE(read_file(twin / kParametersFile, kCaller) == read_file(model_ / kParametersFile, kCaller));
  const ModelFiles before = read_model_files(model_, kCaller);
  const ModelFiles after = read_model_files(twin, kCaller);
  EXPECT_TRUE(are_equal(*after.codec.vocabularies.input, *before.codec.vocabularies.input));
  EXPECT_TRUE(are_equal(*after.codec.vocabularies.output, *before.codec.vocabularies.output));
  expect_trainable(twin);
}

INSTANTIATE_TEST_SUITE_P(All, MarianTwinTest, testing::ValuesIn(list_marian_models()),
                         [](const auto& given) { return std::string(given.param); });

TEST(ExportTest, FixturesHaveModelsOfMarian) {
  if (std::getenv("EDGEWISE_MODELS") == nullptr) {
    EXPECT_GE(list_marian_models().size(), 2U);
  }
}

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
    EXPECT_EQ(after.codec.encode({.input = sentence}).parts, before.codec.encode({.input = sentence}).parts);
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

struct Refusal {
  ExportFormat format;
  std::function<void(Experiment&)> change;
  std::string error;
};

TEST_F(LearnedModelTest, OptionsThatTheOtherSystemLacksAreRefusedByName) {
  using enum ExportFormat;
  const std::vector<Refusal> refusals = {
      {kHuggingFace, [](Experiment& e) { e.model.score = ScoreKind::kAdditive; }, "model.score is additive, needs dot"},
      {kHuggingFace, [](Experiment& e) { e.model.clamp = 5; }, "model.clamp is 5, needs no limit"},
      {kHuggingFace, [](Experiment& e) { e.model.kind = ModelKind::kUniversal; },
       "model.kind is universal, needs transformer"},
      {kHuggingFace, [](Experiment& e) { e.model.norm = NormKind::kStdNorm; },
       "model.norm is std_norm, needs layer_norm"},
      {kHuggingFace, [](Experiment& e) { e.model.norm_epsilon = 1e-6; }, "model.norm_epsilon is 1e-06, needs 1e-05"},
      {kHuggingFace, [](Experiment& e) { e.vocabulary.output_case = CaseKind::kLower; },
       "vocabulary.output_case is lower, needs keep"},
      {kHuggingFace, [](Experiment& e) { e.model.norm_placement = NormPlacement::kPre; },
       "model.norm_placement is pre with final_norm false, needs post with final_norm false (MarianMT), or pre with "
       "final_norm true (M2M-100)"},
      {kHuggingFace,
       [](Experiment& e) {
         e.model.norm_placement = NormPlacement::kPre;
         e.model.final_norm = true;
       },
       "model.positions is halves, needs fairseq for a pre-norm model, which becomes M2M-100; a post-norm model may "
       "have "
       "any positions"},
      {kHuggingFace,
       [](Experiment& e) {
         e.model.norm_placement = NormPlacement::kPre;
         e.model.final_norm = true;
         e.model.positions = PositionKind::kFairseq;
       },
       "the vocabularies have no languages or are not equal, needs those of an M2M-100 or NLLB-200 model; train with "
       "model.norm_placement=post, model.final_norm=false for MarianMT"},
      {kMarian, [](Experiment& e) { e.model.final_norm = true; },
       "model.final_norm is true, needs false with norm_placement post"},
      {kMarian, [](Experiment& e) { e.model.activation = Activation::kGelu; },
       "model.activation is gelu, needs relu or silu, because Marian's gelu is x * sigmoid(1.702 x), another function"},
      {kMarian, [](Experiment& e) { e.model.scale_embedding = false; },
       "model.scale_embedding is false, needs true, because Marian multiplies by sqrt(size)"},
      {kMarian, [](Experiment& e) { e.model.positions = PositionKind::kSinusoidal; },
       "model.positions is sinusoidal, needs halves, or learned with equal tables"},
      {kMarian, [](Experiment&) {},
       "vocabulary.kind is sentencepiece, needs mapped, because Marian begins outputs with a vector of zeros; export "
       "to "
       "huggingface or ctranslate2"},
  };
  ModelFiles files = write(LearnedModel());
  for (const auto& [format, change, error] : refusals) {
    const Experiment kept = files.experiment;
    change(files.experiment);
    EXPECT_EQ(error_of([&] { export_model(files, format, folder_ / "refused", kCaller); }), "test: " + error);
    EXPECT_FALSE(fs::exists(folder_ / "refused"));
    files.experiment = kept;
  }
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

/// Imports a model and makes the last element of its output bias another number than 0.
ModelFiles with_output_bias(const std::string& name, const TemporaryFolder& folder) {
  ImportedModel model = import_model(folder_of_models() / name, kCaller);
  const auto bias = std::ranges::find(model.parameters.tensors, "generator.bias", &TensorInfo::name);
  std::string bytes(reinterpret_cast<const char*>(bias->bytes.data()), bias->bytes.size());
  bytes.back() = '\x3F';
  bias->bytes = bytes_of(bytes);
  write_model(model, folder / "model", kCaller);
  return read_model_files(folder / "model", kCaller);
}

TEST(ExportTest, PaddingThatIsNotZeroIsRefusedForMarian) {
  const TemporaryFolder folder;
  const ModelFiles files = with_output_bias(list_marian_models().front(), folder);
  EXPECT_EQ(error_of([&] { export_marian(files, kCaller); }),
            fmt::format("test: generator.bias has elements other than 0 for token {}, needs 0, because Marian begins "
                        "outputs with a vector of zeros and has no padding; export to huggingface or ctranslate2",
                        files.codec.vocabularies.output->size() - 1));
}

TEST(ExportTest, OutputBiasIsRefusedForM2m100) {
  const TemporaryFolder folder;
  const ModelFiles files = with_output_bias("m2m100_1", folder);
  EXPECT_EQ(error_of([&] { export_hugging_face(files, kCaller); }),
            "test: generator.bias has elements other than 0, needs 0, as M2M-100 has none");
}

}  // namespace
}  // namespace edgewise
