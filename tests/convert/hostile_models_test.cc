// SPDX-License-Identifier: Apache-2.0
// Importing a bad model of transformers or Marian gives one sentence that names the file and what is wrong in it.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "edgewise/base/files/files.h"
#include "edgewise/convert/exported_model.h"
#include "edgewise/convert/imported_model.h"
#include "edgewise/convert/npz.h"
#include "edgewise/convert/zip_archive.h"
#include "tests/base/support.h"
#include "tests/convert/marian_twin.h"
#include "tests/convert/model_changes.h"
#include "tests/convert/model_folders.h"
#include "tests/convert/pickle_bytes.h"
#include "tests/support/whole_files.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

/// Changes the arrays of model.npz.
Change with_arrays(const std::function<void(std::vector<TensorInfo>&)>& change) {
  return [=](const fs::path& model) {
    StoredTensors arrays = read_npz(model / "model.npz");
    change(arrays.tensors);
    write(model / "model.npz", serialize_npz(arrays.tensors));
  };
}

/// Replaces text in special:model.yml.
Change with_options(const std::string& before, const std::string& after) {
  return [=](const fs::path& model) {
    StoredTensors arrays = read_npz(model / "model.npz");
    const auto options = std::ranges::find(arrays.tensors, "special:model.yml", &TensorInfo::name);
    std::string text = to_text(*options, "test");
    const std::size_t found = text.find(before);
    ASSERT_NE(found, std::string::npos) << before;
    text.replace(found, before.size(), after);
    options->bytes = bytes_of(text);
    options->shape = {std::ssize(text)};
    write(model / "model.npz", serialize_npz(arrays.tensors));
  };
}

class HostileModelTest : public ModelChangeTest {
 protected:
  /// Makes the files of the twin of a model of transformers.
  fs::path marian_model() const {
    write_model(marian_twin(import_model(folder_of_committed_models() / "marian_2", "test")), folder_ / "model",
                "test");
    export_model(read_model_files(folder_ / "model", "test"), ExportFormat::kMarian, folder_ / "marian", "test");
    return folder_ / "marian";
  }
};

const std::string kConfig = "config.json";
const std::string kGeneration = "generation_config.json";
const std::string kBias = "model.encoder.layers.0.fc1.bias";

TEST_F(HostileModelTest, OfTransformersNamesTheSettingThatEdgewiseDoesNotHave) {
  expect_errors(
      folder_of_committed_models() / "marian_2",
      {
          {"another model", replace(kConfig, R"("marian")", R"("bart")"),
           R"({}/config.json: model_type is "bart", needs marian, m2m_100, gpt2, llama, mistral, ministral or qwen2)"},
          {"no model type", replace(kConfig, R"("model_type")", R"("type")"),
           "{}/config.json: model_type is missing, needs marian, m2m_100, gpt2, llama, mistral, ministral or qwen2; a "
           "model of CTranslate2 needs model.bin"},
          {"an activation", replace(kConfig, R"("swish")", R"("gelu_new")"),
           R"({}/config.json: activation_function is "gelu_new", needs relu, gelu, silu or swish)"},
          {"heads of the sides", replace(kConfig, R"("decoder_attention_heads": 1)", R"("decoder_attention_heads": 2)"),
           "{}/config.json: decoder_attention_heads is 2, needs 1 as encoder_attention_heads; layers of both sides "
           "have "
           "one size"},
          {"a number as text", replace(kConfig, R"("d_model": 8)", R"("d_model": "8")"),
           R"({}/config.json: d_model is "8", needs a whole number)"},
          {"a fraction", replace(kConfig, R"("d_model": 8)", R"("d_model": 8.5)"),
           "{}/config.json: d_model is 8.5, needs a whole number"},
          {"no JSON", with_file(kConfig, "heads = 1\n"), "{}/config.json"},
          {"beam groups", add(kGeneration, R"("num_beam_groups": 2)"),
           "{}/generation_config.json: num_beam_groups is 2, needs 1"},
          {"sampling", add(kGeneration, R"("do_sample": true)"),
           "{}/generation_config.json: do_sample is true, needs false"},
          {"a bias of sequences", add(kGeneration, R"("sequence_bias": [[[1], 2.0]])"),
           "{}/generation_config.json: sequence_bias is [[[1], 2]], needs null, because Edgewise has no such option"},
          {"sequences of bad words", replace(kGeneration, R"("bad_words_ids": [)", R"("bad_words_ids": [[1, 2],)"),
           "{}/generation_config.json: bad_words_ids is [1, 2] among others, needs single tokens, because Edgewise "
           "cannot forbid sequences"},
          {"two end tokens", replace(kGeneration, R"("eos_token_id": 0)", R"("eos_token_id": [0, 1])"),
           "{}/generation_config.json: eos_token_id is [0, 1], needs one token"},
          {"another forced end", replace(kGeneration, R"("forced_eos_token_id": 0)", R"("forced_eos_token_id": 3)"),
           "{}/generation_config.json: forced_eos_token_id is 3, needs 0 as eos_token_id"},
          {"early stopping", replace(kGeneration, R"("early_stopping": )", R"("early_stopping": "often", "was": )"),
           R"({}/generation_config.json: early_stopping is "often", needs true, false or "never")"},
      });
}

TEST_F(HostileModelTest, OfTransformersNamesTheTokenOutsideTheVocabulary) {
  std::vector<HostileModel> hostile;
  for (const std::string& file : {kConfig, kGeneration}) {
    for (const auto& [key, value] : {std::pair("decoder_start_token_id", "744"), std::pair("eos_token_id", "0"),
                                     std::pair("forced_eos_token_id", "0"), std::pair("pad_token_id", "744")}) {
      const std::string before = fmt::format("\"{}\": {}", key, value);
      const std::string begin = fmt::format("{{}}/{}: {} is ", file, key);
      hostile.push_back({begin + "too great", replace(file, before, fmt::format("\"{}\": 745", key)),
                         begin + "745, needs the number of one of the 745 tokens, which count from 0"});
      hostile.push_back({begin + "negative", replace(file, before, fmt::format("\"{}\": -1", key)),
                         begin + "-1, needs the number of a token"});
    }
  }
  expect_errors(folder_of_committed_models() / "marian_2", hostile);
}

TEST_F(HostileModelTest, OfTransformersNamesTheLayersThatTheClassDoesNotHave) {
  const auto add_true = [](const std::string& key) {
    return HostileModel{key, add(kConfig, fmt::format("\"{}\": true", key)),
                        fmt::format("{{}}/config.json: {} is true, needs false", key)};
  };
  const auto set_true = [](const std::string& key) {
    return HostileModel{key, replace(kConfig, fmt::format("\"{}\": false", key), fmt::format("\"{}\": true", key)),
                        fmt::format("{{}}/config.json: {} is true, needs false", key)};
  };
  expect_errors(folder_of_committed_models() / "marian_2",
                {set_true("normalize_before"),
                 set_true("add_final_layer_norm"),
                 add_true("normalize_embedding"),
                 add_true("tie_encoder_decoder"),
                 {"positions",
                  replace(kConfig, R"("static_position_embeddings": true)", R"("static_position_embeddings": false)"),
                  "{}/config.json: static_position_embeddings is false, needs true"},
                 {"too many layers", replace(kConfig, R"("encoder_layers": 1)", R"("encoder_layers": 10000000)"),
                  "{}/config.json: encoder_layers is 10000000, needs"},
                 {"too many tokens", replace(kConfig, R"("vocab_size": 745)", R"("vocab_size": 10000000)"),
                  "{}/config.json: vocab_size is 10000000, needs 1 to 1000000"},
                 {"a decoder alone", replace(kConfig, R"("MarianMTModel")", R"("MarianForCausalLM")"),
                  R"({}/config.json: architectures is ["MarianForCausalLM"], needs MarianMTModel)"},
                 {"quantised weights", add(kConfig, R"("quantization_config": {"bits": 4})"),
                  "{}/config.json: quantization_config is {…}, needs null"}});
}

TEST_F(HostileModelTest, NamesASettingThatTheImportDoesNotKnow) {
  const std::string unknown = "needs to be left out, because Edgewise does not know whether it changes translations";
  expect_errors(
      folder_of_committed_models() / "marian_2",
      {{"model", add(kConfig, R"("mixture": 2)"), "{}/config.json: mixture is 2, " + unknown},
       {"search", add(kGeneration, R"("look_back": true)"), "{}/generation_config.json: look_back is true, " + unknown},
       {"tokenizer", add("tokenizer_config.json", R"("do_lower_case": true)"),
        "{}/tokenizer_config.json: do_lower_case is true, " + unknown}});
  expect_errors(marian_model(),
                {{"a merge key", replace("decoder.yml", "word-penalty: 0", "<<: {beam-size: 1}"),
                  "{}/decoder.yml: << is set, " + unknown},
                 {"a shortlist", replace("decoder.yml", "word-penalty: 0", "shortlist: [lex.s2t, 50, 50]"),
                  "{}/decoder.yml: shortlist is set, needs to be left out, because Edgewise has no such option"},
                 {"an option of the model", with_options("skip: false", "skip: false\ndeep-norm: true"),
                  "{}/model.npz, special:model.yml: deep-norm is \"true\", " + unknown},
                 {"tied layers", with_options("transformer-tied-layers: []", "transformer-tied-layers: [1, 1]"),
                  "{}/model.npz, special:model.yml: transformer-tied-layers is set, needs to be left out"}});
}

TEST_F(HostileModelTest, OfM2m100NamesThePaddingThatMovesPositions) {
  expect_errors(folder_of_committed_models() / "m2m100_1",
                {{"padding", replace(kConfig, R"("pad_token_id": 1)", R"("pad_token_id": 0)"),
                  "{}/config.json: pad_token_id is 0, needs 1, from which positions count"}});
}

TEST_F(HostileModelTest, OfTransformersNamesTheTensor) {
  expect_errors(
      folder_of_committed_models() / "marian_2",
      {
          {"a missing tensor", with_tensors([](auto& tensors) { remove_tensor(tensors, kBias); }),
           "{} has no tensor \"" + kBias + "\", needs one"},
          {"a tensor too many", with_tensors([](auto& tensors) {
             tensors.push_back(tensors[0]);
             tensors.back().name = "model.encoder.extra";
           }),
           R"({} has tensors that cannot be converted, needs none: "model.encoder.extra")"},
          {"another shape", with_tensors([](auto& tensors) {
             TensorInfo& bias = find(tensors, kBias);
             bias.shape = {1, bias.shape[0]};
           }),
           "{}: \"" + kBias + "\" has shape [1, 40], needs [40]"},
          {"no parameters", [](const fs::path& model) { fs::remove(model / "model.safetensors"); },
           "{} has no parameters, needs model.safetensors, model.safetensors.index.json or pytorch_model.bin"},
          {"a file of another directory",
           [](const fs::path& model) {
             fs::remove(model / "model.safetensors");
             write(model / "model.safetensors.index.json", R"({"weight_map": {"a": "../model.safetensors"}})");
           },
           R"({}/model.safetensors.index.json: weight_map is "../model.safetensors", needs names of files beside it)"},
      });
}

TEST_F(HostileModelTest, OfTransformersRunsNoPickledCode) {
  const fs::path copy = folder_ / "copy";
  fs::copy(folder_of_committed_models() / "marian_2", copy);
  fs::remove(copy / "model.safetensors");
  const std::string pickle =
      opcodes::kBegin + opcodes::call(opcodes::global("os", "system"), {opcodes::text("id")}) + ".";
  const std::vector<ZipContent> entries = {{"archive/data.pkl", pickle}, {"archive/version", "3\n"}};
  write(copy / "pytorch_model.bin", serialize_zip(entries, "test"));
  const std::string error = error_of([&] { import_model(copy, "test"); });
  EXPECT_NE(error.find("pytorch_model.bin"), std::string::npos) << error;
  EXPECT_NE(error.find("os.system"), std::string::npos) << error;
}

TEST_F(HostileModelTest, OfTransformersNamesTheTokens) {
  expect_errors(folder_of_committed_models() / "marian_2",
                {
                    {"a gap", replace("vocab.json", ": 5,", ": 5000,"), "{}/vocab.json: "},
                    {"no end token", replace("vocab.json", "\"</s>\"", "\"</t>\""),
                     R"({}/vocab.json: token 0 is "</t>", needs "</s>" as in the settings of the tokenizer)"},
                    {"no padding", replace("vocab.json", "\"<pad>\"", "\"<fill>\""),
                     R"({}/vocab.json: token 744 is "<fill>", needs "<pad>" as in the settings of the tokenizer)"},
                    {"a number twice", replace("vocab.json", ": 5,", ": 4,"), "{}/vocab.json: "},
                    {"a fraction", replace("vocab.json", ": 5,", ": 5.5,"), "{}/vocab.json"},
                    {"no unknown token", replace("vocab.json", "\"<unk>\"", "\"<unknown>\""),
                     R"({}/vocab.json has no token "<unk>", needs one)"},
                    {"another unknown token", add("tokenizer_config.json", R"("unk_token": {"content": "<none>"})"),
                     R"({}/vocab.json has no token "<none>", needs one)"},
                    {"separate vocabularies",
                     replace("tokenizer_config.json", "\"separate_vocabs\": false", "\"separate_vocabs\": true"),
                     "{}/tokenizer_config.json: separate_vocabs is true, needs false, as config.json has "
                     "share_encoder_decoder_embeddings"},
                });
}

TEST_F(HostileModelTest, OfMarianNamesTheSettingThatEdgewiseDoesNotHave) {
  const std::string where = "{}/model.npz, special:model.yml: ";
  const auto has_no_such_option = [&](const std::string& key, const std::string& value, const std::string& only) {
    return HostileModel{
        key, with_options(key + ": " + only, key + ": " + value),
        fmt::format("{}{} is \"{}\", needs \"{}\", because Edgewise has no such option", where, key, value, only)};
  };
  expect_errors(
      marian_model(),
      {
          has_no_such_option("type", "s2s", "transformer"),
          {"averaged attention", with_options("autoreg: self-attention", "autoreg: average-attention"),
           where +
               "transformer-decoder-autoreg is \"average-attention\", needs self-attention, or rnn with the cell ssru"},
          {"another recurrent network", with_options("autoreg: self-attention", "autoreg: rnn"),
           where + "dec-cell is \"gru\", needs ssru"},
          has_no_such_option("transformer-ffn-depth", "3", "2"),
          has_no_such_option("right-left", "true", "false"),
          has_no_such_option("transformer-train-position-embeddings", "true", "false"),
          {"gelu", with_options("activation: swish", "activation: gelu"),
           where +
               "transformer-ffn-activation is \"gelu\", needs relu or swish; Marian's gelu is x * sigmoid(1.702 x), "
               "which Edgewise does not have"},
          {"norms", with_options("postprocess: dan", "postprocess: da"), where + "transformer-preprocess is"},
          {"widths", with_options("decoder-dim-ffn: 40", "decoder-dim-ffn: 32"),
           where + "transformer-decoder-dim-ffn is 32, needs 40 as transformer-dim-ffn"},
          {"an alias", with_options("dim-emb: 8", "dim-emb: *size"),
           "{}/model.npz, special:model.yml, line 2: the value is"},
          {"word penalty", replace("decoder.yml", "word-penalty: 0", "word-penalty: 1"),
           "{}/decoder.yml: word-penalty is 1, needs 0, because Edgewise has no such option"},
          {"a broken factor", replace("decoder.yml", "max-length-factor: 3", "max-length-factor: 1.5"),
           "{}/decoder.yml: max-length-factor is 1.5, needs a whole number"},
          {"two models", replace("decoder.yml", "  - model.npz", "  - model.npz\n  - model.npz"),
           "{}/decoder.yml: models is a list of 2, needs one model"},
          {"a file of another directory", replace("decoder.yml", "model.npz", "/tmp/model.npz"),
           R"({}/decoder.yml: a file is "/tmp/model.npz", needs the name of a file beside this one)"},
      });
}

TEST_F(HostileModelTest, OfMarianNamesTheArrayOrTheToken) {
  const std::string bias = "encoder_l1_ffn_b1";
  expect_errors(
      marian_model(),
      {
          {"a missing array", with_arrays([&](auto& arrays) { remove_tensor(arrays, bias); }),
           "{}/model.npz has no tensor \"" + bias + "\", needs one"},
          {"an array too many", with_arrays([](auto& arrays) {
             arrays.push_back(arrays[0]);
             arrays.back().name = "decoder_W_extra";
           }),
           R"({}/model.npz has tensors that cannot be converted, needs none: "decoder_W_extra")"},
          {"another shape", with_arrays([&](auto& arrays) { find(arrays, bias).shape = {40}; }),
           "{}/model.npz: \"" + bias + "\" has shape [40], needs [1, 40]"},
          {"a bias without rows", with_arrays([](auto& arrays) {
             TensorInfo& output_bias = find(arrays, "decoder_ff_logit_out_b");
             output_bias.shape = {0, 4};
             output_bias.bytes = {};
           }),
           R"({}/model.npz: "decoder_ff_logit_out_b" has shape [0, 4], needs [1, )"},
          {"no scales", with_arrays([](auto& arrays) {
             arrays.push_back({"Wemb.scale", DType::kF32, {0}, {}});
           }),
           R"({}/model.npz has tensors that cannot be converted, needs none: "Wemb.scale")"},
          {"a gap", replace("vocab.yml", ": 5\n", ": 5000\n"), "{}/vocab.yml, line 6: "},
          {"a number twice", replace("vocab.yml", ": 5\n", ": 4\n"), "{}/vocab.yml, line 6: "},
          {"too few tokens", with_file("vocab.yml", "</s>: 0\n<unk>: 1\n"), "{}/vocab.yml has 2 tokens, needs the "},
          {"no end token", replace("vocab.yml", "</s>", "</t>"), R"({}/vocab.yml has no token </s>, needs one)"},
      });
}

}  // namespace
}  // namespace edgewise
