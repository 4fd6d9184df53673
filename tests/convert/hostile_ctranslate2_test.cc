// SPDX-License-Identifier: Apache-2.0
// import_model names what is wrong with a directory of CTranslate2, or what Edgewise does not have.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "edgewise/base/files/files.h"
#include "edgewise/convert/ctranslate2_model.h"
#include "edgewise/convert/imported_model.h"
#include "tests/base/support.h"
#include "tests/support/whole_files.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

/// A directory of CTranslate2 that a test changes.
class AlteredModel {
 public:
  explicit AlteredModel(std::string_view name) {
    fs::copy(fs::path(EDGEWISE_CONVERT_FIXTURES "/../ctranslate2_models") / name, path());
    model_ = read_ctranslate2(path() / "model.bin");
  }

  fs::path path() const { return folder_ / "m"; }
  Ctranslate2Model& model() { return model_; }
  std::vector<TensorInfo>& variables() { return model_.variables.tensors; }

  TensorInfo& variable(std::string_view name) { return *std::ranges::find(variables(), name, &TensorInfo::name); }

  void remove(std::string_view name) {
    std::erase_if(variables(), [&](const TensorInfo& tensor) { return tensor.name == name; });
  }

  template <class Number>
  void set(std::string_view name, DType dtype, Number value) {
    remove(name);
    std::string bytes(sizeof(value), '\0');
    std::memcpy(bytes.data(), &value, sizeof(value));
    const std::string_view kept = model_.variables.keep(std::move(bytes));
    variables().push_back({std::string(name), dtype, {}, bytes_of(kept)});
  }

  /// Replaces a part of a file's text.
  void edit(std::string_view file, std::string_view part, std::string_view by) {
    std::string text = read_file(path() / file, "test");
    const std::size_t found = text.find(part);
    check(found != std::string::npos, "{} has no {}", file, part);
    write_file_atomically(path() / file, text.replace(found, part.size(), by));
  }

  void write() {
    write_file_atomically(path() / "model.bin",
                          serialize_ctranslate2(model_.specification, model_.revision, variables(), model_.aliases));
  }

  /// Imports the directory; returns the error without its beginning, which names the directory.
  std::string error() {
    write();
    const std::string text = error_of([&] { write_model(import_model(path(), "import"), folder_ / "out", "import"); });
    const std::string beginning = "import: " + path().string();
    return text.starts_with(beginning) ? text.substr(beginning.size()) : text;
  }

 private:
  TemporaryFolder folder_;
  Ctranslate2Model model_;
};

struct BadModel {
  std::function<void(AlteredModel&)> alter;
  std::string error;
};

void expect_errors(std::string_view name, const std::vector<BadModel>& rows) {
  for (const BadModel& row : rows) {
    AlteredModel model(name);
    row.alter(model);
    EXPECT_EQ(model.error(), row.error);
  }
}

template <class Number>
std::function<void(AlteredModel&)> setting(std::string name, DType dtype, Number value) {
  return [=](AlteredModel& model) { model.set(name, dtype, value); };
}

std::function<void(AlteredModel&)> number(std::string name, std::int32_t value) {
  return setting(std::move(name), DType::kI32, value);
}

std::function<void(AlteredModel&)> without(std::string name) {
  return [=](AlteredModel& model) { model.remove(name); };
}

std::function<void(AlteredModel&)> edited(std::string file, std::string part, std::string by) {
  return [=](AlteredModel& model) { model.edit(file, part, by); };
}

std::function<void(AlteredModel&)> with_tensor(std::string name, std::vector<std::int64_t> shape) {
  return [=](AlteredModel& model) {
    static const std::string zeros(4096, '\0');
    std::size_t size = sizeof(float);
    for (const std::int64_t dimension : shape) size *= static_cast<std::size_t>(dimension);
    model.remove(name);
    model.variables().push_back({name, DType::kF32, shape, bytes_of(zeros).subspan(0, size)});
  };
}

TEST(HostileCtranslate2, NamesLayersThatEdgewiseDoesNotHave) {
  const std::string no_layer = ", because Edgewise has no such layer";
  const std::string unused = "/model.bin has tensors that cannot be converted, needs none: ";
  expect_errors(
      "opennmt_float32",
      {{number("encoder/activation", 1), "/model.bin: decoder/activation is 0, needs 1 as encoder/activation"},
       {[](AlteredModel& model) {
          for (const char* name : {"encoder/activation", "decoder/activation"}) model.set(name, DType::kI8, '\x01');
        },
        "/model.bin: encoder/activation is 1 (gelu with tanh), needs 0 (relu), 2 (silu) or 3 (gelu)"},
       {[](AlteredModel& model) {
          for (const char* name : {"encoder/activation", "decoder/activation"}) model.set(name, DType::kI8, '\x63');
        },
        "/model.bin: encoder/activation is 99, needs 0 (relu), 2 (silu) or 3 (gelu)"},
       {number("decoder/alibi", 1), "/model.bin: decoder/alibi is 1, needs 0" + no_layer},
       {number("decoder/sliding_window", 9), "/model.bin: decoder/sliding_window is 9, needs 0" + no_layer},
       {number("encoder/layer_0/self_attention/num_heads_kv", 1),
        "/model.bin: encoder/layer_0/self_attention/num_heads_kv is 1, needs 2" + no_layer},
       {number("decoder/layer_0/attention/head_dim", 5),
        "/model.bin: decoder/layer_0/attention/head_dim is 5, needs 6" + no_layer},
       {number("encoder/layer_0/self_attention/rotary_dim", 4),
        unused + "\"encoder/layer_0/self_attention/rotary_dim\""},
       {with_tensor("encoder/layernorm_embedding/gamma", {12}), unused + "\"encoder/layernorm_embedding/gamma\""},
       {with_tensor("encoder/layer_0/ffn/linear_0_noact/weight", {16, 12}),
        unused + "\"encoder/layer_0/ffn/linear_0_noact/weight\""},
       {with_tensor("encoder/layer_0/self_attention/relative_position_keys", {5, 6}),
        unused + "\"encoder/layer_0/self_attention/relative_position_keys\""},
       {with_tensor("encoder/embeddings_1/weight", {3, 12}),
        "/model.bin has \"encoder/embeddings_1/weight\", needs one embedding of inputs, because Edgewise has no "
        "factors of tokens"},
       {without("encoder/layer_norm/beta"), "/model.bin has no tensor \"encoder/layer_norm/beta\", needs one"},
       {setting("encoder/scale_embeddings", DType::kF32, 2.0F),
        "/model.bin: \"encoder/scale_embeddings\" is 2, needs 1 or 3.4641016, the square root of the size"},
       {number("decoder/pre_norm", 0), "/model.bin: decoder/pre_norm is 0, needs 1 as encoder/pre_norm"},
       {number("encoder/num_heads", 0), "/model.bin: decoder/num_heads is 2, needs 0 as encoder/num_heads"}});
}

TEST(HostileCtranslate2, NamesTensorsThatAreMissingOrHaveAnotherShape) {
  expect_errors(
      "opennmt_float32",
      {{without("decoder/layer_0/attention/linear_1/weight"),
        "/model.bin has no tensor \"decoder/layer_0/attention/linear_1/weight\", needs one"},
       {without("decoder/projection/weight"), "/model.bin has no tensor \"decoder/projection/weight\", needs one"},
       {without("encoder/embeddings_0/weight"), "/model.bin has no tensor \"encoder/embeddings_0/weight\", needs one"},
       {without("encoder/layer_0/self_attention/linear_0/weight"),
        "/model.bin has tensors that cannot be converted, needs none: \"encoder/layer_0/ffn/layer_norm/beta\", "
        "\"encoder/layer_0/ffn/layer_norm/gamma\", \"encoder/layer_0/ffn/linear_0/bias\", "
        "\"encoder/layer_0/ffn/linear_0/weight\", \"encoder/layer_0/ffn/linear_1/bias\" and 6 more"},
       {with_tensor("encoder/embeddings_0/weight", {12}),
        "/model.bin: \"encoder/embeddings_0/weight\" has shape [12], needs a matrix"},
       {with_tensor("encoder/layer_0/ffn/linear_1/weight", {16, 12}),
        "/model.bin: \"encoder/layer_0/ffn/linear_1/weight\" has shape [16, 12], needs [12, 16]"},
       {with_tensor("decoder/projection/bias", {39}),
        "/model.bin: \"decoder/projection/bias\" has shape [39], needs [38]"},
       {without("decoder/layer_norm/gamma"),
        "/model.bin has the final norm of one side alone, needs \"encoder/layer_norm/gamma\" and "
        "\"decoder/layer_norm/gamma\" or neither"},
       {[](AlteredModel& model) { model.model().specification = "WhisperSpec"; },
        "/model.bin has the specification \"WhisperSpec\", needs TransformerSpec"},
       {[](AlteredModel& model) { model.model().revision = 8; },
        "/model.bin has revision 8 of TransformerSpec, needs 3 to 7"}});
  const std::string scale = "encoder/layer_0/ffn/linear_0/weight_scale";
  expect_errors(
      "opennmt_int8",
      {{without(scale),
        "/model.bin has no tensor \"" + scale + "\", needs one, because \"encoder/layer_0/ffn/linear_0/weight\" is I8"},
       {with_tensor(scale, {3}), "/model.bin: \"" + scale + "\" has shape [3], needs [] or [16]"},
       {with_tensor(scale, {16}), "/model.bin: \"" + scale + "\" has the element 0, needs a finite divisor"}});
}

TEST(HostileCtranslate2, NamesSettingsAndTokensThatDoNotFit) {
  const std::string tokens = "the vocabulary of ";
  expect_errors(
      "opennmt_float32",
      {{edited("target_vocabulary.json", "\"<blank>\",", ""),
        ": the vocabulary of outputs has 37 tokens, needs the 38 of the model"},
       {edited("source_vocabulary.json", "\"<blank>\",", "\"<blank>\", \"new\","),
        ": the vocabulary of inputs has 33 tokens, needs the 32 of the model"},
       {edited("target_vocabulary.json", "<blank>", "<s>"),
        ": target_vocabulary: token 2 is \"<s>\", which token 1 is too, needs each once"},
       {edited("target_vocabulary.json", "</s>", "<end>"), ": target_vocabulary has no token \"</s>\", needs one"},
       {edited("source_vocabulary.json", "[", "{"),
        "/source_vocabulary.json, byte 0: the file is an object, needs a list"},
       {edited("config.json", "\"add_source_bos\": false", "\"add_source_bos\": true"),
        "/config.json: add_source_bos is true, needs false, because inputs of Edgewise have no begin token"},
       {edited("config.json", "\"decoder_start_token\": \"<s>\"", "\"decoder_start_token\": null"),
        "/config.json: decoder_start_token is null, needs the first token of outputs"},
       {edited("config.json", "\"<unk>\"", "1"), "/config.json: unk_token is 1, needs a string"},
       {[](AlteredModel& model) { fs::remove(model.path() / "source_vocabulary.json"); },
        " has no vocabulary, needs shared_vocabulary.json, or source_vocabulary.json and target_vocabulary.json, or "
        "the same as .txt"}});
}

TEST(OldCtranslate2, ReadsSettingsOfBothSidesAndTextVocabularies) {
  AlteredModel old("opennmt_float32");
  ImportedModel expected = import_model(old.path(), "test");
  old.model().revision = 4;
  for (const char* name : {"num_heads", "pre_norm", "activation"}) {
    TensorInfo& both = old.variable(std::string("encoder/") + name);
    both.name = name;
    old.remove(std::string("decoder/") + name);
  }
  old.variable("encoder/embeddings_0/weight").name = "encoder/embeddings/weight";
  for (const char* side : {"source", "target"}) {
    const std::string name = std::string(side) + "_vocabulary";
    const auto& vocabulary = side == std::string("source") ? expected.vocabularies.input : expected.vocabularies.output;
    std::string lines;
    for (std::int64_t i = 0; i < vocabulary->size(); ++i) lines += std::string(vocabulary->token_text(i)) + "\n";
    fs::remove(old.path() / (name + ".json"));
    write_file_atomically(old.path() / (name + ".txt"), lines);
  }
  old.write();
  const ImportedModel found = import_model(old.path(), "test");
  EXPECT_EQ(found.experiment.model.heads, expected.experiment.model.heads);
  EXPECT_EQ(found.experiment.model.norm_placement, expected.experiment.model.norm_placement);
  EXPECT_EQ(found.vocabularies.input->serialize(), expected.vocabularies.input->serialize());
  EXPECT_EQ(found.vocabularies.output->serialize(), expected.vocabularies.output->serialize());
  EXPECT_EQ(serialize_safetensors(found.parameters.tensors), serialize_safetensors(expected.parameters.tensors));
}

TEST(OldCtranslate2, ReadsVariablesInPlaceOfConfigJson) {
  AlteredModel old("opennmt_float32");
  const ImportedModel expected = import_model(old.path(), "test");
  fs::remove(old.path() / "config.json");
  old.set("with_source_eos", DType::kI8, '\x01');
  old.set("with_target_bos", DType::kI8, '\x00');
  const std::string_view end = old.model().variables.keep("</s>");
  old.variables().push_back({"eos_token", DType::kI8, {4}, bytes_of(end)});
  old.write();
  std::string file = read_file(old.path() / "model.bin", "test");
  EXPECT_EQ(error_of([&] { import_model(old.path(), "test"); }),
            fmt::format("test: {}/config.json: decoder_start_token is null, needs the first token of outputs",
                        old.path().string()));
  file[0] = '\x05';  // the version
  write_file_atomically(old.path() / "model.bin", file);
  const ImportedModel found = import_model(old.path(), "test");
  EXPECT_TRUE(found.experiment.data.end_input);
  EXPECT_FALSE(expected.experiment.data.end_input);
  const SpecialTokens& special = found.vocabularies.output->special();
  EXPECT_EQ(special.begin, special.end);
  EXPECT_EQ(special.end, expected.vocabularies.output->special().end);
}

TEST(ArgosPackage, HasTheSentencePieceModelInTheParentDirectory) {
  AlteredModel package("opennmt_float32");
  EXPECT_EQ(import_model(package.path(), "test").vocabularies.input->serialize_pieces(), "");
  const fs::path pieces = EDGEWISE_CONVERT_FIXTURES "/../../text/fixtures/tokenizers/marian/input_pieces.model";
  fs::copy(pieces, package.path().parent_path() / "sentencepiece.model");
  const ImportedModel found = import_model(package.path(), "test");
  for (const auto& vocabulary : {found.vocabularies.input, found.vocabularies.output}) {
    EXPECT_EQ(vocabulary->serialize_pieces(), read_file(pieces, "test"));
    const std::vector<std::int64_t> tokens = vocabulary->encode("</s>");
    EXPECT_EQ(std::ranges::count(tokens, vocabulary->special().end), 0);
  }
}

}  // namespace
}  // namespace edgewise
