// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/ctranslate2_settings.h"

#include <array>
#include <cmath>
#include <optional>

#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/convert/neutral_settings.h"

namespace edgewise {
namespace {

constexpr std::uint32_t kFirstScopedRevision = 5;  // models before have settings that both sides share

/// A setting of a layer, and its value without effect.
struct Neutral {
  std::string_view name;
  double value;
};

constexpr std::array kNeutralOfSides = {Neutral{"multi_query_attention", 0}, Neutral{"alibi", 0},
                                        Neutral{"sliding_window", 0}, Neutral{"final_logit_softcapping", 0},
                                        Neutral{"scale_outputs", 1}};
constexpr std::array kNeutralOfLayers = {Neutral{"multi_query", 0}, Neutral{"sliding_window", 0}};
constexpr std::array kWithoutEffect = {"embeddings_merge", "alignment_layer", "alignment_heads",
                                       "alibi_use_positive_positions", "scale_alibi"};
constexpr std::array kSides = {"encoder", "decoder"};

class SettingsReader {
 public:
  SettingsReader(const Ctranslate2Model& model, const Ctranslate2Variables& variables, const JsonSettings& config,
                 const std::string& where)
      : model_(model),
        where_(where),
        config_(config),
        settings_(variables.settings.tensors, where),
        tensors_(variables.tensors.tensors, where) {}

  Ctranslate2Settings run() {
    read_sizes();
    read_layers();
    result_.model.scale_embedding = read_common_scale();
    result_.starts_from_zero = find("decoder/start_from_zero_embedding").value_or(0) != 0;
    refuse_other_layers();
    read_tokens();
    settings_.expect_all_used();
    config_.require_boolean("multi_query_attention", false);
    config_.expect_all_known(kNeutralConfigMembers);
    return result_;
  }

 private:
  /// Returns a number. Models of old revisions may have it for both sides: `num_heads` for `encoder/num_heads`.
  std::optional<double> find(const std::string& name) {
    const TensorInfo* number = settings_.find(name);
    if (number == nullptr && model_.revision < kFirstScopedRevision && name.find('/') == name.rfind('/')) {
      number = settings_.find(name.substr(name.find('/') + 1));
    }
    if (number == nullptr) return std::nullopt;
    const bool is_float = number->dtype == DType::kF32 || number->dtype == DType::kF16 || number->dtype == DType::kBF16;
    return is_float ? to_floats(*number, where_).front() : static_cast<double>(to_whole_number(*number, where_));
  }

  /// Returns a setting that both sides need alike.
  double common(const std::string& name, double by_default) {
    const double encoder = find("encoder/" + name).value_or(by_default);
    const double decoder = find("decoder/" + name).value_or(by_default);
    check(encoder == decoder, "{}: decoder/{} is {}, needs {} as encoder/{}", where_, name, decoder, encoder, name);
    return encoder;
  }

  void require(const std::string& name, double only) {
    const std::optional<double> value = find(name);
    check(!value || *value == only, "{}: {} is {}, needs {}, because Edgewise has no such layer", where_, name,
          value.value_or(only), only);
  }

  const TensorInfo& matrix(std::string_view name) {
    const TensorInfo& tensor = tensors_.get(name);
    check(tensor.shape.size() == 2, "{}: {} has shape [{}], needs a matrix", where_, quote(name),
          fmt::join(tensor.shape, ", "));
    return tensor;
  }

  std::int64_t count_layers(std::string_view side) {
    std::int64_t count = 0;
    while (tensors_.find(fmt::format("{}/layer_{}/self_attention/linear_0/weight", side, count)) != nullptr) ++count;
    return count;
  }

  void read_sizes() {
    TransformerOptions& model = result_.model;
    const TensorInfo* second = tensors_.find("encoder/embeddings_1/weight");
    check(second == nullptr, "{} has {}, needs one embedding of inputs, because Edgewise has no factors of tokens",
          where_, second == nullptr ? "" : quote(second->name));
    const TensorInfo& input = matrix("encoder/embeddings_0/weight");
    model.size = input.shape[1];
    model.input_vocabulary = input.shape[0];
    model.output_vocabulary = matrix("decoder/embeddings/weight").shape[0];
    model.feed_forward = matrix("encoder/layer_0/ffn/linear_0/weight").shape[0];
    model.encoder_layers = count_layers("encoder");
    model.decoder_layers = count_layers("decoder");
  }

  void read_layers() {
    TransformerOptions& model = result_.model;
    constexpr double kDefaultHeads = 8, kMostHeads = 65536;
    const double heads = common("num_heads", kDefaultHeads);
    check(heads >= 1 && heads <= kMostHeads, "{}: encoder/num_heads is {}, needs 1 to {}", where_, heads, kMostHeads);
    model.heads = static_cast<std::int64_t>(heads);
    model.norm_placement = common("pre_norm", 1) != 0 ? NormPlacement::kPre : NormPlacement::kPost;
    model.norm_epsilon = config_.number("layer_norm_epsilon").value_or(1e-5);
    model.activation = read_activation();
  }

  Activation read_activation() {
    constexpr std::array kNames = {"relu", "gelu with tanh", "silu", "gelu", "gelu sigmoid", "tanh", "sigmoid"};
    const double number = common("activation", 0);
    if (number == 0) return Activation::kRelu;
    if (number == 2) return Activation::kSilu;
    if (number == 3) return Activation::kGelu;
    const bool is_known = number >= 0 && number < static_cast<double>(kNames.size());
    fail("{}: encoder/activation is {}{}, needs 0 (relu), 2 (silu) or 3 (gelu)", where_, number,
         is_known ? fmt::format(" ({})", kNames[static_cast<std::size_t>(number)]) : "");
  }

  /// Returns whether embeddings are scaled. The variable is a truth value or the factor.
  bool read_scale(const std::string& side) {
    const std::string name = side + "/scale_embeddings";
    const TensorInfo* variable = settings_.find(name);
    const TensorInfo* older = settings_.find(side + "/embeddings/multiply_by_sqrt_depth");
    if (variable == nullptr) variable = older;
    if (variable == nullptr) return true;
    if (variable->dtype == DType::kI8) return to_whole_number(*variable, where_) != 0;
    const float factor = to_floats(*variable, where_).front();
    const auto root = static_cast<float>(std::sqrt(static_cast<double>(result_.model.size)));
    check(factor == 1 || factor == root, "{}: {} is {}, needs 1 or {}, the square root of the size", where_,
          quote(variable->name), factor, root);
    return factor != 1;
  }

  bool read_common_scale() {
    const bool input = read_scale("encoder");
    const bool output = read_scale("decoder");
    check(input == output, "{}: decoder/scale_embeddings is {}, needs {} as encoder/scale_embeddings", where_, output,
          input);
    return input;
  }

  /// Refuses layers that Edgewise does not have, if a number says so; other such layers have tensors that no parameter
  /// of Edgewise holds.
  void refuse_other_layers() {
    for (const std::string side : kSides) {
      for (const Neutral& setting : kNeutralOfSides) require(fmt::format("{}/{}", side, setting.name), setting.value);
      for (const char* name : kWithoutEffect) find(fmt::format("{}/{}", side, name));
      const std::int64_t layers = side == kSides[0] ? result_.model.encoder_layers : result_.model.decoder_layers;
      for (std::int64_t i = 0; i < layers; ++i) refuse_other_layer(fmt::format("{}/layer_{}", side, i));
    }
    if (config_.find("quantization_type") != nullptr) config_.require_number("quantization_type", 0);
  }

  void refuse_other_layer(const std::string& layer) {
    require(layer + "/layer_scalar", 1);
    const auto heads = static_cast<double>(result_.model.heads);
    const double head_size = std::floor(static_cast<double>(result_.model.size) / heads);
    for (const char* attention : {"self_attention", "attention"}) {
      const std::string scope = fmt::format("{}/{}", layer, attention);
      for (const Neutral& setting : kNeutralOfLayers) require(fmt::format("{}/{}", scope, setting.name), setting.value);
      require(scope + "/num_heads_kv", heads);
      require(scope + "/head_dim", head_size);
      require(scope + "/queries_scale", 1 / std::sqrt(static_cast<float>(head_size)));
    }
  }

  /// Returns a text of config.json, or a variable, which models had before there was a config.json.
  std::string text(const char* key, const char* by_default) {
    const TensorInfo* variable = settings_.find(key);
    const std::optional<std::string> member = config_.text(key);
    if (member) return *member;
    return variable != nullptr ? to_text(*variable, where_) : by_default;
  }

  bool flag(const char* key, const char* variable) {
    const bool old = find(variable).value_or(0) != 0;
    return config_.boolean(key).value_or(old);
  }

  void read_tokens() {
    result_.unknown = text("unk_token", "<unk>");
    const std::string bos = text("bos_token", "<s>");
    result_.end = text("eos_token", "</s>");
    result_.end_input = flag("add_source_eos", "with_source_eos");
    if (flag("add_source_bos", "with_source_bos")) {
      config_.refuse("add_source_bos", "true", "false, because inputs of Edgewise have no begin token");
    }
    const bool starts_with_bos = find("with_target_bos").value_or(1) != 0;
    const bool starts_with_none = find("user_decoder_start_tokens").value_or(0) != 0;
    std::optional<std::string> start = config_.text("decoder_start_token");
    constexpr std::uint32_t kFirstWithConfig = 6;
    if (!start && model_.version < kFirstWithConfig && !starts_with_none) start = starts_with_bos ? bos : result_.end;
    if (!start) config_.refuse("decoder_start_token", "null", "the first token of outputs");
    result_.begin = *start;
  }

  const Ctranslate2Model& model_;
  const std::string& where_;
  const JsonSettings& config_;
  TensorLookup settings_;
  TensorLookup tensors_;
  Ctranslate2Settings result_;
};

}  // namespace

Ctranslate2Settings read_ctranslate2_settings(const Ctranslate2Model& model, const Ctranslate2Variables& variables,
                                              const JsonSettings& config, const std::string& where) {
  return SettingsReader(model, variables, config, where).run();
}

}  // namespace edgewise
