// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/convert/exported_model.h"
#include "edgewise/convert/exported_parameters.h"
#include "edgewise/convert/hugging_face_files.h"
#include "edgewise/convert/hugging_face_layout.h"
#include "edgewise/positions/position_formula.h"

namespace edgewise {
namespace {

HuggingFaceFamily family_of(const TransformerOptions& options, std::string_view caller) {
  const bool is_post = options.norm_placement == NormPlacement::kPost;
  if (is_post && !options.final_norm) return HuggingFaceFamily::kMarian;
  if (!is_post && options.final_norm) return HuggingFaceFamily::kM2m100;
  refuse_option(caller, "model.norm_placement",
                fmt::format("{} with final_norm {}", enum_name(options.norm_placement), options.final_norm),
                "post with final_norm false (MarianMT), or pre with final_norm true (M2M-100)");
}

void check_m2m100(const TransformerOptions& options, std::string_view caller) {
  if (options.positions != PositionKind::kFairseq) {
    refuse_option(caller, "model.positions", enum_name(options.positions),
                  "fairseq for a pre-norm model, which becomes M2M-100; a post-norm model may have any positions");
  }
  if (options.tying != Tying::kAll) refuse_option(caller, "model.tying", enum_name(options.tying), "all for M2M-100");
}

void check_output_bias(const StoredTensors& parameters, std::string_view caller) {
  const TensorInfo& bias = find_parameter(parameters, "generator.bias");
  check(are_zeros(bias, 0, bias.shape[0]), "{}: generator.bias has elements other than 0, needs 0, as M2M-100 has none",
        caller);
}

HuggingFaceEmbeddings embedding_names(Tying tying) {
  if (tying == Tying::kAll) return {};
  HuggingFaceEmbeddings names = {.input = "model.encoder.embed_tokens.weight",
                                 .output = "model.decoder.embed_tokens.weight",
                                 .projection = "lm_head.weight"};
  if (tying == Tying::kOutput) names.projection = names.output;
  return names;
}

/// Adds the tables of positions that MarianMT does not compute.
void add_positions(TransformerOptions& options, std::int64_t rows, StoredTensors& parameters) {
  if (options.positions == PositionKind::kHalves || options.positions == PositionKind::kLearned) return;
  const PositionFormula formula(options.size, options.positions);
  std::vector<float> table(static_cast<std::size_t>(rows * options.size));
  for (std::int64_t row = 0; row < rows; ++row) formula.write(row, table.data() + row * options.size);
  const std::string_view bytes =
      parameters.keep(std::string(reinterpret_cast<const char*>(table.data()), table.size() * sizeof(float)));
  for (const char* side : {"input", "output"}) {
    parameters.tensors.push_back(
        {fmt::format("{}_positions.weight", side), DType::kF32, {rows, options.size}, std::as_bytes(std::span(bytes))});
  }
  options.positions = PositionKind::kLearned;
  options.max_positions = rows;
}

std::string write_parameters(const ModelFiles& model, HuggingFaceFamily family, std::int64_t positions,
                             std::string_view caller) {
  TransformerOptions options = model.experiment.model;
  StoredTensors parameters = exported_parameters(model, ExportedTypes::kStored, caller);
  const bool is_marian = family == HuggingFaceFamily::kMarian;
  if (is_marian) {
    add_positions(options, positions, parameters);
  } else {
    check_output_bias(parameters, caller);
  }
  const std::vector<TensorLayout> layout = hugging_face_layout(options, embedding_names(options.tying), is_marian);
  const StoredTensors exported = export_parameters(parameters.tensors, layout);
  return serialize_safetensors(exported.tensors, {{"format", "pt"}});
}

}  // namespace

std::map<std::string, std::string> export_hugging_face(const ModelFiles& model, std::string_view caller) {
  check_exportable(model.experiment, caller);
  const HuggingFaceFamily family = family_of(model.experiment.model, caller);
  if (family == HuggingFaceFamily::kM2m100) check_m2m100(model.experiment.model, caller);
  const HuggingFaceLengths lengths = hugging_face_lengths(model);
  std::map<std::string, std::string> files = write_tokenizer(model, family, lengths, caller);
  files["config.json"] = write_hugging_face_config(model, family, lengths);
  files["generation_config.json"] = write_generation_config(model, lengths);
  files["model.safetensors"] = write_parameters(model, family, lengths.positions, caller);
  return files;
}

}  // namespace edgewise
