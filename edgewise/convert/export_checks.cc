// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/export_checks.h"

#include <string>

#include "edgewise/base/error.h"
#include "edgewise/base/files/json.h"

namespace edgewise {

void refuse_option(std::string_view caller, std::string_view option, std::string_view has, std::string_view needs) {
  fail("{}: {} is {}, needs {}", caller, option, has, needs);
}

void check_exportable(const TransformerOptions& model, std::string_view caller) {
  if (model.kind != ModelKind::kTransformer) refuse_option(caller, "model.kind", enum_name(model.kind), "transformer");
  if (model.score != ScoreKind::kDot) refuse_option(caller, "model.score", enum_name(model.score), "dot");
  if (model.has_ssru()) refuse_option(caller, "model.decoder_mixer", "ssru", "attention");
  if (model.share_layers) refuse_option(caller, "model.share_layers", "true", "false");
  if (model.log_scale) refuse_option(caller, "model.log_scale", "true", "false");
  if (model.mirror_positions) refuse_option(caller, "model.mirror_positions", "true", "false");
  if (model.exits.are_on()) refuse_option(caller, "model.exits.layers", "a list", "[]");
  if (!model.decoder_patterns().is_default()) refuse_option(caller, "model.relation", "a pattern", "causal");
  if (!model.encoder_patterns().is_default()) refuse_option(caller, "model.encoder_relation", "a pattern", "complete");
  if (model.clamp) refuse_option(caller, "model.clamp", json_number(*model.clamp), "no limit");
  if (model.norm != NormKind::kLayerNorm) refuse_option(caller, "model.norm", enum_name(model.norm), "layer_norm");
  if (!model.norm_bias) refuse_option(caller, "model.norm_bias", "false", "true");
  if (!model.feed_forward_bias) refuse_option(caller, "model.feed_forward_bias", "false", "true");
  if (!model.output_bias) refuse_option(caller, "model.output_bias", "false", "true");
  if (model.num_key_value_heads() != model.heads) {
    refuse_option(caller, "model.key_value_heads", std::to_string(model.key_value_heads), "0");
  }
  if (model.feed_forward_gate) refuse_option(caller, "model.feed_forward_gate", "true", "false");
  if (!has_position_vectors(model.positions)) {
    refuse_option(caller, "model.positions", enum_name(model.positions), "position vectors");
  }
  if (model.activation == Activation::kGeluTanh) {
    refuse_option(caller, "model.activation", "gelu_tanh", "relu, gelu or silu");
  }
}

void check_case_is_kept(const VocabularySection& vocabulary, std::string_view caller) {
  const auto check_case = [&](std::string_view option, CaseKind kind) {
    if (kind != CaseKind::kKeep) refuse_option(caller, option, enum_name(kind), "keep");
  };
  check_case("vocabulary.input_case", vocabulary.input_case);
  check_case("vocabulary.output_case", vocabulary.output_case);
}

}  // namespace edgewise
