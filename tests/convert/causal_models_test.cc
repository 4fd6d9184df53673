// SPDX-License-Identifier: Apache-2.0
// Language models of other systems (causal_models/make_models) give the logits of those systems after import_model, and
// export_model writes what was imported. To test more models:
// EDGEWISE_CAUSAL_MODELS=FOLDER build/tests/convert/test_causal
#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "edgewise/base/files/files.h"
#include "edgewise/base/files/json_settings.h"
#include "edgewise/convert/causal_config.h"
#include "edgewise/convert/exported_model.h"
#include "edgewise/convert/hugging_face_tensors.h"
#include "edgewise/convert/imported_model.h"
#include "edgewise/experiment/language_task.h"
#include "edgewise/experiment/translation_model.h"
#include "edgewise/models/language_model.h"
#include "edgewise/nn/serialize.h"
#include "edgewise/translate/model_files.h"
#include "tests/base/support.h"
#include "tests/convert/model_changes.h"
#include "tests/convert/trainable_model.h"
#include "tests/support/whole_files.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

constexpr double kTolerance = 1e-4;  // of a logit
constexpr const char* kCaller = "test";

using TokenNumbers = std::vector<std::int64_t>;

fs::path folder_of_causal_models() {
  const char* other = std::getenv("EDGEWISE_CAUSAL_MODELS");
  return other != nullptr ? other : EDGEWISE_CONVERT_FIXTURES "/../causal_models";
}

std::vector<std::string> list_causal_models() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder_of_causal_models())) {
    if (fs::exists(entry.path() / "cases.json")) names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

/// A text, its tokens, those that greedy search adds, and the logits [tokens + 1, vocabulary] before and after each.
struct CausalCase {
  std::string text;
  TokenNumbers tokens;
  TokenNumbers greedy;
  std::vector<float> logits;
};

TokenNumbers to_token_numbers(const JsonValue& list) {
  TokenNumbers tokens;
  for (const JsonValue& item : list.items) tokens.push_back(static_cast<std::int64_t>(item.number));
  return tokens;
}

std::vector<CausalCase> read_causal_cases(const fs::path& model) {
  const JsonSettings json = JsonSettings::read(model / "cases.json", kCaller);
  const SafetensorsFile logits = SafetensorsFile::open(model / "logits.safetensors");
  std::vector<CausalCase> cases;
  for (const JsonValue& item : json.find("cases")->items) {
    cases.push_back({item.members.at("text").text, to_token_numbers(item.members.at("ids")),
                     to_token_numbers(item.members.at("greedy")),
                     to_floats(*logits.find(std::to_string(cases.size())), kCaller)});
  }
  return cases;
}

/// Returns the logits after each token.
at::Tensor logits_after(const LanguageModel& model, TokenNumbers tokens) {
  const c10::InferenceMode no_gradients;
  Pass pass = Pass::inference();
  tokens.push_back(tokens.front());  // the label of the last token, which has no effect on logits
  return model.forward(make_batch(std::vector<TokenPair>{{{}, std::move(tokens)}}), pass);
}

/// A model directory in memory.
struct LoadedModel {
  explicit LoadedModel(const fs::path& directory)
      : files(read_model_files(directory, kCaller)), model(files.experiment.model, /*seed=*/1) {
    load_tensors(parameters(model), files.parameters, files.parameters_name);
  }

  const Vocabulary& vocabulary() const { return *files.codec.vocabularies.output; }

  /// Returns the tokens of a text, with the one that begins texts.
  TokenNumbers tokens_of(const CausalCase& given) const {
    TokenNumbers tokens = {vocabulary().special().begin};
    tokens.insert(tokens.end(), given.tokens.begin(), given.tokens.end());
    return tokens;
  }

  ModelFiles files;
  LanguageModel model;
};

class CausalModelTest : public testing::TestWithParam<std::string> {
 protected:
  CausalModelTest() { write_model(import_model(source_, kCaller), model_, kCaller); }

  const fs::path source_ = folder_of_causal_models() / GetParam();
  const std::vector<CausalCase> cases_ = read_causal_cases(source_);
  const TemporaryFolder folder_;
  const fs::path model_ = folder_ / "model";
};

TEST_P(CausalModelTest, SplitsTextIntoTheTokensOfTheTokenizer) {
  const LoadedModel loaded(model_);
  for (const CausalCase& expected : cases_) {
    EXPECT_EQ(loaded.vocabulary().encode(expected.text), expected.tokens) << expected.text;
  }
}

TEST_P(CausalModelTest, GivesTheLogitsOfTransformers) {
  const LoadedModel loaded(model_);
  double worst = 0;
  for (const CausalCase& expected : cases_) {
    const at::Tensor logits = logits_after(loaded.model, loaded.tokens_of(expected)).contiguous();

    ASSERT_EQ(logits.numel(), std::ssize(expected.logits));
    const float* found = logits.const_data_ptr<float>();
    for (std::size_t i = 0; i < expected.logits.size(); ++i) {
      worst = std::max(worst, std::abs(static_cast<double>(found[i]) - expected.logits[i]));
    }
    EXPECT_LT(worst, kTolerance) << expected.text;
  }
  RecordProperty("difference", fmt::format("{:.1e}", worst));
}

TEST_P(CausalModelTest, GivesTheProbabilitiesOfTransformersWithoutLibtorch) {
  const LoadedModel loaded(model_);
  const ScorerFactory make_scorer = make_runtime_scorer_factory(read_model_files(model_, kCaller));
  const std::unique_ptr<Scorer> scorer = make_scorer();
  for (const CausalCase& expected : cases_) {
    const TokenNumbers tokens = loaded.tokens_of(expected);
    const std::vector<std::int64_t> slots = {0};
    const std::vector<Tokens> begin = {Tokens(tokens.begin(), tokens.end() - 1)};
    const std::vector<NewNode> last = {{0, static_cast<NodeIndex>(std::ssize(tokens) - 2), tokens.back()}};
    StepResult result;

    scorer->encode(slots, begin);
    scorer->step({.nodes = last, .all = true}, result);

    const at::Tensor logits = at::tensor(expected.logits).view({std::ssize(tokens), -1})[-1];
    const at::Tensor found = at::tensor(result.log_probabilities);
    EXPECT_LT((found - logits.log_softmax(-1)).abs().max().item<double>(), kTolerance) << expected.text;
  }
}

TEST_P(CausalModelTest, ContinuesTextsWithTheTokensOfGreedySearch) {
  const LoadedModel loaded(model_);
  for (const CausalCase& expected : cases_) {
    TokenNumbers tokens = loaded.tokens_of(expected);
    TokenNumbers greedy;
    while (greedy.size() < expected.greedy.size()) {
      greedy.push_back(logits_after(loaded.model, tokens)[-1].argmax().item<std::int64_t>());
      tokens.push_back(greedy.back());
    }
    EXPECT_EQ(greedy, expected.greedy) << expected.text;
  }
}

// The end token of these models is also the padding token of their vocabularies.
TEST_P(CausalModelTest, HasTheLossOfEachTokenAndOfTheEnd) {
  const LoadedModel loaded(model_);
  const TranslationModel model = make_model(loaded.files);
  const LossOptions options = {.smoothing = 0, .ignored = model.loss_options().ignored};
  for (const CausalCase& expected : cases_) {
    TokenNumbers tokens = loaded.tokens_of(expected);
    tokens.push_back(loaded.vocabulary().special().end);
    const auto rows = std::ssize(tokens) - 1;
    const at::Tensor labels = at::tensor(TokenNumbers(tokens.begin() + 1, tokens.end()));
    const at::Tensor logits = at::tensor(expected.logits).view({rows, -1}).to(at::kDouble);
    Pass pass = Pass::inference();

    const LossSums sums =
        model.model->loss(make_batch(std::vector<TokenPair>{{{}, tokens}}), options, /*added=*/{}, pass).sums();

    EXPECT_EQ(sums.tokens, rows);
    EXPECT_NEAR(sums.loss / static_cast<double>(rows), at::cross_entropy_loss(logits, labels).item<double>(),
                kTolerance);
  }
}

TEST_P(CausalModelTest, IsMeasuredInWindowsThatCountEachTokenOnce) {
  const LoadedModel loaded(model_);
  EvaluationText text;
  double loss = 0;
  for (const CausalCase& given : cases_) {
    TokenNumbers tokens = loaded.tokens_of(given);
    tokens.push_back(loaded.vocabulary().special().end);
    const std::int64_t context = std::min<std::int64_t>(2, std::ssize(tokens) - 2);
    const at::Tensor logits = at::tensor(given.logits).view({std::ssize(tokens) - 1, -1}).to(at::kDouble);
    const at::Tensor labels = at::tensor(TokenNumbers(tokens.begin() + 1, tokens.end()));
    loss += at::cross_entropy_loss(logits, labels, {}, at::Reduction::None).slice(0, context).sum().item<double>();
    text.chunks.push_back({tokens, context});
  }
  text.bytes = 1;

  const Validation validation = evaluate(make_model(loaded.files), text);

  EXPECT_NEAR(validation.loss, loss / static_cast<double>(text.count_tokens()), kTolerance);
}

TEST_P(CausalModelTest, HasAConfigWithWhichTrainingCanStart) { expect_trainable(model_); }

/// Returns tensors by name, without the names' prefix `transformer.`, which files of GPT-2 may leave out, without those
/// that a model computes itself, and without the biases of zeros that Llama has where Qwen 2 without windows has none.
std::map<std::string, const TensorInfo*> stored_tensors(const StoredTensors& stored, bool is_qwen2) {
  std::map<std::string, const TensorInfo*> tensors;
  for (const TensorInfo& tensor : stored.tensors) {
    const bool is_computed = tensor.name.ends_with("inv_freq") || tensor.name.ends_with(".attn.masked_bias") ||
                             tensor.name.ends_with(".attn.bias");
    if (is_computed || (is_qwen2 && tensor.name.ends_with("o_proj.bias"))) continue;
    const std::string prefix = "transformer.";
    tensors[tensor.name.starts_with(prefix) ? tensor.name.substr(prefix.size()) : tensor.name] = &tensor;
  }
  return tensors;
}

TEST_P(CausalModelTest, ExportsTheTensorsAndTheTokenizerThatItImported) {
  const fs::path exported = folder_ / "exported";
  export_model(read_model_files(model_, kCaller), ExportFormat::kHuggingFace, exported, kCaller);

  EXPECT_TRUE(read_file(exported / "tokenizer.json", kCaller) == read_file(source_ / "tokenizer.json", kCaller));
  const bool is_qwen2 = JsonSettings::read(source_ / "config.json", kCaller).text("model_type") == "qwen2";
  const StoredTensors before = read_hugging_face_tensors(source_, kCaller);
  const StoredTensors after = read_hugging_face_tensors(exported, kCaller);
  const auto expected = stored_tensors(before, /*is_qwen2=*/false);
  const auto found = stored_tensors(after, is_qwen2);
  EXPECT_EQ(found.size(), expected.size());
  for (const auto& [name, tensor] : expected) {
    ASSERT_TRUE(found.contains(name)) << name;
    EXPECT_TRUE(are_equal(*found.at(name), *tensor)) << name;
  }
}

/// Returns the members of config.json that determine the model's function, as text.
std::string described_config(const fs::path& model) {
  const JsonSettings config = JsonSettings::read(model / "config.json", kCaller);
  std::string text;
  for (const char* key :
       {"n_embd", "n_head", "n_layer", "n_positions", "layer_norm_epsilon", "hidden_size", "num_attention_heads",
        "num_key_value_heads", "num_hidden_layers", "intermediate_size", "max_position_embeddings", "rms_norm_eps",
        "vocab_size", "bos_token_id", "eos_token_id", "embd_pdrop", "resid_pdrop", "attn_pdrop", "attention_dropout"}) {
    if (const auto number = config.number(key)) text += fmt::format("{}={} ", key, *number);
  }
  for (const char* key : {"activation_function", "hidden_act"}) {
    const std::string name = config.text(key).value_or("");
    text += fmt::format("{}={} ", key, name == "gelu_pytorch_tanh" ? "gelu_new" : name);  // names of one function
  }
  if (const JsonValue* rope = config.find("rope_parameters")) {
    for (const auto& [key, value] : rope->members) {
      text +=
          fmt::format("{}={} ", key, value.kind == JsonKind::kNumber ? fmt::format("{}", value.number) : value.text);
    }
  }
  return text;
}

TEST_P(CausalModelTest, ExportsTheConfigThatItImported) {
  const fs::path exported = folder_ / "exported";
  export_model(read_model_files(model_, kCaller), ExportFormat::kHuggingFace, exported, kCaller);

  EXPECT_EQ(described_config(exported), described_config(source_));
}

TEST_P(CausalModelTest, IsImportedFromItsExportAsTheSameFiles) {
  const fs::path exported = folder_ / "exported";
  export_model(read_model_files(model_, kCaller), ExportFormat::kHuggingFace, exported, kCaller);
  write_model(import_model(exported, kCaller), folder_ / "again", kCaller);

  for (const auto& entry : fs::directory_iterator(model_)) {
    const fs::path name = entry.path().filename();
    EXPECT_TRUE(read_file(folder_ / "again" / name, kCaller) == read_file(entry.path(), kCaller)) << name;
  }
}

TEST(CausalModelFiles, KeepScaledPositionsAndAllTokensThatEndATextWhenTheyAreImportedAndExported) {
  const TemporaryFolder folder;
  const fs::path source = folder / "source";
  fs::copy(EDGEWISE_CONVERT_FIXTURES "/../causal_models/llama_tied", source);
  replace("generation_config.json", "97", "[97, 5, 3, 97]")(source);
  replace("config.json", R"("rope_type": "default")",
          R"("rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 2.0,
             "original_max_position_embeddings": 16)")(source);
  write_model(import_model(source, kCaller), folder / "model", kCaller);

  const ModelFiles model = read_model_files(folder / "model", kCaller);
  EXPECT_EQ(model.codec.vocabularies.output->rules().other_ends, (TokenNumbers{3, 5}));
  const RotaryOptions& rotary = model.experiment.model.rotary;
  EXPECT_EQ(rotary.scaling, RotaryScaling::kLlama3);
  EXPECT_EQ(rotary.factor, 4);
  EXPECT_EQ(rotary.low_frequency, 1);
  EXPECT_EQ(rotary.high_frequency, 2);
  EXPECT_EQ(rotary.trained_length, 16);

  export_model(model, ExportFormat::kHuggingFace, folder / "exported", kCaller);
  const std::string generation = read_file(folder / "exported/generation_config.json", kCaller);
  EXPECT_NE(generation.find(R"("eos_token_id": [97, 3, 5])"), std::string::npos) << generation;
  write_model(import_model(folder / "exported", kCaller), folder / "again", kCaller);
  for (const auto& entry : fs::directory_iterator(folder / "model")) {
    const fs::path name = entry.path().filename();
    EXPECT_EQ(read_file(folder / "again" / name, kCaller), read_file(entry.path(), kCaller)) << name;
  }
}

TEST(CausalConfig, HasTheWindowsThatTransformersReads) {
  constexpr const char* kWindow = R"("sliding_window": 4)";
  constexpr const char* kUse = R"("use_sliding_window": true)";
  constexpr const char* kTypes = R"("layer_types")";
  constexpr const char* kLayers = R"("max_window_layers": 1)";
  const auto without = [](const std::string& member) {
    return replace("config.json", member, "\"_was" + member.substr(1));
  };
  const StringLists only_last = {{"causal"}, {"window 3"}};
  const struct {
    std::string model;
    std::vector<Change> changes;
    StringLists relation;
  } cases[] = {
      {"llama_tied", {}, {{"causal"}}},
      {"mistral", {}, {{"window 4"}}},
      {"mistral", {without(kWindow)}, {{"window 4096"}}},
      {"mistral", {replace("config.json", kWindow, R"("sliding_window": null)")}, {{"causal"}}},
      {"mistral",
       {add("config.json", R"("layer_types": ["sliding_attention", "full_attention"])")},
       {{"window 4"}, {"causal"}}},
      {"qwen2", {}, only_last},
      {"qwen2", {without(kTypes)}, only_last},
      {"qwen2", {without(kTypes), replace("config.json", kLayers, R"("max_window_layers": 0)")}, {{"window 3"}}},
      {"qwen2", {without(kTypes), without(kLayers)}, {{"causal"}}},
      {"qwen2", {without(kTypes), without(kUse)}, {{"causal"}}},
      {"qwen2", {without(R"("sliding_window": 3)")}, {{"causal"}, {"window 4096"}}},
  };
  for (const auto& [model, changes, relation] : cases) {
    const TemporaryFolder folder;
    const fs::path copy = folder / "copy";
    fs::copy(EDGEWISE_CONVERT_FIXTURES "/../causal_models/" + model, copy);
    for (const Change& change : changes) change(copy);

    EXPECT_EQ(read_causal_config(copy, kCaller).model.relation, relation) << read_file(copy / "config.json", kCaller);
  }
}

INSTANTIATE_TEST_SUITE_P(All, CausalModelTest, testing::ValuesIn(list_causal_models()),
                         [](const auto& given) { return std::string(given.param); });

}  // namespace
}  // namespace edgewise
