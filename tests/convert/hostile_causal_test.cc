// SPDX-License-Identifier: Apache-2.0
// Importing a bad language model of transformers gives one sentence that names the file and what is wrong in it; so
// does exporting one that transformers does not have.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "edgewise/base/files/files.h"
#include "edgewise/convert/exported_model.h"
#include "edgewise/translate/model_files.h"
#include "tests/convert/model_changes.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

const std::string kCausal = "config.json";
const std::string kTokens = "tokenizer.json";
const std::string kQuery = "model.layers.1.self_attn.q_proj.weight";

fs::path causal_model(std::string_view name) { return fs::path(EDGEWISE_CONVERT_FIXTURES "/../causal_models") / name; }

using HostileCausalTest = ModelChangeTest;

TEST_F(HostileCausalTest, OfGpt2NamesTheSettingThatEdgewiseDoesNotHave) {
  expect_errors(
      causal_model("gpt2"),
      {
          {"an activation", replace(kCausal, R"("gelu_new")", R"("quick_gelu")"),
           R"({}/config.json: activation_function is "quick_gelu", needs gelu_new, gelu_pytorch_tanh, gelu, silu, )"
           "swish or relu"},
          {"scores by layer",
           replace(kCausal, R"("scale_attn_by_inverse_layer_idx": false)",
                   R"("scale_attn_by_inverse_layer_idx": true)"),
           "{}/config.json: scale_attn_by_inverse_layer_idx is true, needs false"},
          {"scores that are not scaled",
           replace(kCausal, R"("scale_attn_weights": true)", R"("scale_attn_weights": false)"),
           "{}/config.json: scale_attn_weights is false, needs true"},
          {"cross-attention", replace(kCausal, R"("add_cross_attention": false)", R"("add_cross_attention": true)"),
           "{}/config.json: add_cross_attention is true, needs false"},
          {"another class", replace(kCausal, "GPT2LMHeadModel", "GPT2ForSequenceClassification"),
           R"({}/config.json: architectures is ["GPT2ForSequenceClassification"], needs GPT2LMHeadModel)"},
          {"heads", replace(kCausal, R"("n_head": 2)", R"("n_head": 3)"),
           "{}/config.json: n_head is 3, needs a divisor of n_embd, which is 16"},
          {"no heads", replace(kCausal, R"("n_head": 2)", R"("n_head": 0)"),
           "{}/config.json: n_head is 0, needs at least 1"},
          {"a fraction", replace(kCausal, R"("n_embd": 16)", R"("n_embd": 16.5)"),
           "{}/config.json: n_embd is 16.5, needs a whole number"},
          {"too many layers", replace(kCausal, R"("n_layer": 2)", R"("n_layer": 9007199254740992)"),
           "{}/config.json: decoder_layers is 9007199254740992, needs"},
          {"pruned heads", add(kCausal, R"("pruned_heads": {"0": [1]})"),
           "{}/config.json: pruned_heads is {…}, needs null"},
          {"quantised weights", add(kCausal, R"("quantization_config": {"bits": 4})"),
           "{}/config.json: quantization_config is {…}, needs null"},
          {"an unknown setting", add(kCausal, R"("mixture": 2)"), "{}/config.json: mixture is 2, needs to be left out"},
      });
}

TEST_F(HostileCausalTest, OfLlamaNamesTheSettingThatEdgewiseDoesNotHave) {
  const std::string rope = R"("rope_type": "default")";
  constexpr const char* kLlama3 =
      R"("rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0)";
  expect_errors(
      causal_model("llama_tied"),
      {
          {"another model", replace(kCausal, R"("llama")", R"("qwen3")"),
           R"({}/config.json: model_type is "qwen3", needs marian, m2m_100, gpt2, llama, mistral, ministral or qwen2)"},
          {"an activation", replace(kCausal, R"("silu")", R"("mish")"),
           R"({}/config.json: hidden_act is "mish", needs gelu_new,)"},
          {"unknown scaling", replace(kCausal, rope, R"("rope_type": "yarn", "factor": 8.0)"),
           R"({}/config.json: rope_parameters: rope_type is "yarn", needs default, linear or llama3)"},
          {"no factor", replace(kCausal, rope, R"("rope_type": "linear")"),
           "{}/config.json: rope_parameters: factor is left out, needs a number from 1 to 1000000"},
          {"a small factor", replace(kCausal, rope, R"("rope_type": "llama3", "factor": 0.5)"),
           "{}/config.json: rope_parameters: factor is 0.5, needs a number from 1 to 1000000"},
          {"no length", replace(kCausal, rope, kLlama3),
           "{}/config.json: rope_parameters: original_max_position_embeddings is left out, needs a number from 1 to"},
          {"a factor", replace(kCausal, rope, R"("rope_type": "default", "factor": 8.0)"),
           "{}/config.json: rope_parameters: factor is 8, needs to be left out"},
          {"no settings of positions",
           replace(kCausal, R"("rope_parameters": {)", R"("rope_parameters": 1, "_was": {)"),
           "{}/config.json: rope_parameters is 1, needs an object"},
          {"scaled positions of older files", add(kCausal, R"("rope_scaling": {"type": "dynamic", "factor": 2.0})"),
           R"({}/config.json: rope_scaling: rope_type is "dynamic", needs default, linear or llama3)"},
          {"a part of positions", add(kCausal, R"("partial_rotary_factor": 0.5)"),
           "{}/config.json: partial_rotary_factor is 0.5, needs 1"},
          {"wide heads", replace(kCausal, R"("head_dim": 4)", R"("head_dim": 8)"),
           "{}/config.json: head_dim is 8, needs 4"},
          {"shared heads", replace(kCausal, R"("num_key_value_heads": 2)", R"("num_key_value_heads": 3)"),
           "{}/config.json: num_key_value_heads is 3, needs a divisor of num_attention_heads, which is 4"},
          {"no texts", replace(kCausal, R"("max_position_embeddings": 40)", R"("max_position_embeddings": 0)"),
           "{}/config.json: max_position_embeddings is 0, needs at least 1"},
          {"no tokens", replace(kCausal, R"("vocab_size": 98)", R"("vocab_size": 0)"),
           "{}/config.json: vocab_size is 0, needs 1 to 1000000"},
          {"a token outside", replace(kCausal, R"("bos_token_id": 96)", R"("bos_token_id": 98)"),
           "{}/config.json: bos_token_id is 98, needs the number of one of the 98 tokens, which count from 0"},
          {"a token outside for generation",
           replace("generation_config.json", R"("eos_token_id": 97)", R"("eos_token_id": [])"),
           "{}/generation_config.json: eos_token_id is [], needs 1 to 100 tokens"},
      });
}

TEST_F(HostileCausalTest, NamesTheSettingOfWindows) {
  expect_errors(causal_model("mistral"),
                {{"no tokens", replace(kCausal, R"("sliding_window": 4)", R"("sliding_window": 0)"),
                  "{}/config.json: sliding_window is 0, needs at least 1"},
                 {"a setting of Qwen 2", add(kCausal, R"("use_sliding_window": false)"),
                  "{}/config.json: use_sliding_window is false, needs to be left out"}});
  expect_errors(causal_model("llama_tied"), {{"a window", add(kCausal, R"("sliding_window": 4)"),
                                              "{}/config.json: sliding_window is 4, needs to be left out"}});
  expect_errors(causal_model("qwen2"),
                {{"a kind of layer", replace(kCausal, "full_attention", "chunked_attention"),
                  R"({}/config.json: layer_types is "chunked_attention", needs full_attention or sliding_attention)"},
                 {"no window", replace(kCausal, R"("use_sliding_window": true)", R"("use_sliding_window": false)"),
                  R"({}/config.json: layer_types is "sliding_attention", needs full_attention without sliding_window)"},
                 {"too few layers", replace(kCausal, R"("num_hidden_layers": 2)", R"("num_hidden_layers": 3)"),
                  R"({}/config.json: layer_types is )"}});
}

TEST_F(HostileCausalTest, NamesTheTensor) {
  expect_errors(
      causal_model("llama_untied"),
      {
          {"a missing tensor", with_tensors([](auto& tensors) { remove_tensor(tensors, kQuery); }),
           "{} has no tensor \"" + kQuery + "\", needs one"},
          {"a missing projection", with_tensors([](auto& tensors) { remove_tensor(tensors, "lm_head.weight"); }),
           R"({} has no tensor "lm_head.weight", needs one)"},
          {"another shape", with_tensors([](auto& tensors) {
             find(tensors, kQuery).shape = {8, 32};
           }),
           "{}: \"" + kQuery + "\" has shape [8, 32], needs [16, 16]"},
          {"a tensor too many", with_tensors([](auto& tensors) {
             tensors.push_back(tensors[0]);
             tensors.back().name = "model.layers.0.self_attn.q_norm.weight";
           }),
           R"({} has tensors that cannot be converted, needs none: "model.layers.0.self_attn.q_norm.weight")"},
      });
  expect_errors(causal_model("gpt2"),
                {{"rows as columns", with_tensors([](auto& tensors) {
                    find(tensors, "transformer.h.0.attn.c_attn.weight").shape = {48, 16};
                  }),
                  R"({}: "transformer.h.0.attn.c_attn.weight" has shape [48, 16], needs [16, 48])"}});
}

TEST_F(HostileCausalTest, NamesTheTokenizer) {
  const auto cut = [](const fs::path& model) {
    const std::string text = read_file(model / kTokens, "test");
    write(model / kTokens, text.substr(0, text.size() / 2));
  };
  expect_errors(causal_model("qwen2"),
                {
                    {"no tokenizer", [](const fs::path& model) { fs::remove(model / kTokens); },
                     "{} has no tokenizer.json, needs one; save_pretrained() of transformers' AutoTokenizer writes it"},
                    {"half a tokenizer", cut, "{}/tokenizer.json"},
                    {"another kind of tokens", replace(kTokens, R"("type": "BPE")", R"("type": "WordPiece")"),
                     R"({}/tokenizer.json: model: type is "WordPiece", needs "BPE", the only model that Edgewise has)"},
                    {"fewer rows than tokens",
                     [](const fs::path& model) {
                       fs::remove(model / "generation_config.json");
                       replace(kCausal, R"("eos_token_id": 98)", R"("eos_token_id": 96)")(model);
                       replace(kCausal, R"("vocab_size": 99)", R"("vocab_size": 98)")(model);
                     },
                     "{}/tokenizer.json has 99 tokens, needs at most the 98 of config.json"},
                    {"neither begin nor end",
                     [](const fs::path& model) {
                       fs::remove(model / "generation_config.json");
                       replace(kCausal, R"("bos_token_id": 96)", R"("bos_token_id": null)")(model);
                       replace(kCausal, R"("eos_token_id": 98)", R"("eos_token_id": null)")(model);
                     },
                     "{}/tokenizer.json: config.json has neither bos_token_id nor eos_token_id, needs one of them"},
                });
}

TEST_F(HostileCausalTest, CutFilesGiveErrorsThatNameThem) {
  for (const std::string& file : {kCausal, kTokens, std::string("model.safetensors")}) {
    const fs::path copy = folder_ / "cut";
    fs::remove_all(copy);
    fs::copy(causal_model("gpt2"), copy);
    const std::string bytes = read_file(copy / file, "test");
    for (std::size_t i = 0; i < 32; ++i) {
      const std::size_t size = bytes.size() * i / 32;
      write(copy / file, bytes.substr(0, size));
      const std::string error = error_of([&] { import_model(copy, "test"); });
      EXPECT_TRUE(error.starts_with("test: ") && error.find(file) != std::string::npos) << size << ": " << error;
    }
  }
}

/// Imports Llama, changes the options that the files then have, and returns the error of exporting.
std::string export_error(const fs::path& folder, ExportFormat format, auto change) {
  write_model(import_model(causal_model("llama_tied"), "test"), folder / "model", "test");
  ModelFiles files = read_model_files(folder / "model", "test");
  change(files.experiment.model);
  return error_of([&] { export_model(files, format, folder / "exported", "test"); });
}

TEST_F(HostileCausalTest, AnExportNamesTheOptionThatTheOtherSystemDoesNotHave) {
  using Options = TransformerOptions;
  const auto error = [&](auto change) { return export_error(folder_.path(), ExportFormat::kHuggingFace, change); };

  EXPECT_EQ(error([](Options& o) { o.norm_placement = NormPlacement::kPost; }),
            "test: model.norm_placement is post, needs pre");
  EXPECT_EQ(error([](Options& o) { o.final_norm = false; }), "test: model.final_norm is false, needs true");
  EXPECT_EQ(error([](Options& o) { o.scale_embedding = true; }), "test: model.scale_embedding is true, needs false");
  EXPECT_EQ(error([](Options& o) { o.clamp = 5; }), "test: model.clamp is 5, needs no limit");
  EXPECT_EQ(error([](Options& o) { o.score = ScoreKind::kAdditive; }), "test: model.score is additive, needs dot");
  EXPECT_EQ(error([](Options& o) { o.norm = NormKind::kStdNorm; }),
            "test: model.norm is std_norm, needs layer_norm (GPT-2) or rms_norm (Llama)");
  EXPECT_EQ(error([](Options& o) { o.positions = PositionKind::kAlibi; }),
            "test: model.positions is alibi, needs rotary with norm rms_norm, as Llama");
  EXPECT_EQ(error([](Options& o) { o.feed_forward_gate = false; }),
            "test: model.feed_forward_gate is false, needs true for Llama");
  EXPECT_EQ(error([](Options& o) { o.norm = NormKind::kLayerNorm; }),
            "test: model.positions is rotary, needs position vectors with layer_norm, as GPT-2");
  EXPECT_EQ(error([](Options& o) {
              o.relation = {{"window 4", "sinks 1"}};
            }),
            R"(test: model.relation is "window 4, sinks 1", needs causal and windows of one length)");
  EXPECT_EQ(error([](Options& o) {
              o.relation = {{"window 4"}, {"window 5"}};
            }),
            R"(test: model.relation is "window 5", needs causal and windows of one length)");
  EXPECT_EQ(export_error(folder_.path(), ExportFormat::kMarian, [](Options&) {}),
            "test: model.kind is language_model, needs transformer");
  EXPECT_EQ(export_error(folder_.path(), ExportFormat::kCtranslate2, [](Options&) {}),
            "test: model.kind is language_model, needs transformer");
  EXPECT_FALSE(fs::exists(folder_ / "exported"));
}

}  // namespace
}  // namespace edgewise
