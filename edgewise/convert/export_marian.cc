// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/base/files/json.h"
#include "edgewise/convert/exported_model.h"
#include "edgewise/convert/exported_parameters.h"
#include "edgewise/convert/exported_search.h"
#include "edgewise/convert/exported_tokens.h"
#include "edgewise/convert/marian_config.h"
#include "edgewise/convert/marian_layout.h"
#include "edgewise/convert/marian_options.h"
#include "edgewise/convert/marian_tokens.h"
#include "edgewise/convert/marian_vocabulary.h"
#include "edgewise/convert/npz.h"

namespace edgewise {
namespace {

void check_norms(const TransformerOptions& options, std::string_view caller) {
  if (options.norm_placement != NormPlacement::kPost) {
    refuse_option(caller, "model.norm_placement", enum_name(options.norm_placement),
                  "post, because Marian computes pre-norm models in another way when it translates than in training");
  }
  if (options.final_norm) refuse_option(caller, "model.final_norm", "true", "false with norm_placement post");
  if (options.norm_epsilon != kMarianEpsilon) {
    refuse_option(caller, "model.norm_epsilon", json_number(options.norm_epsilon),
                  fmt::format("{}, as Marian has", json_number(kMarianEpsilon)));
  }
}

void check_layers(const TransformerOptions& options, std::string_view caller) {
  check_norms(options, caller);
  if (options.activation == Activation::kGelu) {
    refuse_option(caller, "model.activation", "gelu",
                  "relu or silu, because Marian's gelu is x * sigmoid(1.702 x), another function");
  }
  if (!options.scale_embedding) {
    refuse_option(caller, "model.scale_embedding", "false", "true, because Marian multiplies by sqrt(size)");
  }
  if (options.positions != PositionKind::kMarian) {
    refuse_option(caller, "model.positions", enum_name(options.positions), "marian");
  }
  if (options.begin_embedding != BeginEmbedding::kZero) {
    refuse_option(caller, "model.begin_embedding", enum_name(options.begin_embedding),
                  "zero, because Marian begins outputs with a vector of zeros");
  }
}

/// Throws Error for options that Marian does not have.
void check_marian_options(const ModelFiles& model, std::string_view caller) {
  Experiment experiment = model.experiment;
  experiment.model.norm_epsilon = LayerOptions().norm_epsilon;
  check_exportable(experiment, caller);
  check_layers(model.experiment.model, caller);
  if (!model.experiment.data.end_input) {
    refuse_option(caller, "data.end_input", "false",
                  "true, because Marian ends each input with the end token; train with data.end_input=true");
  }
}

bool has_padding_at_end(const ModelFiles& model) {
  return model.codec.vocabularies.output->kind() == VocabularyKind::kMapped;
}

/// Takes the element of kMarianPadding, the last one, out of the parameters of the vocabularies.
class PaddingRemoval {
 public:
  PaddingRemoval(StoredTensors& parameters, std::string_view caller) : parameters_(parameters), caller_(caller) {}

  void run() {
    for (TensorInfo& parameter : parameters_.tensors) {
      if (std::ranges::find(kTables, parameter.name) != kTables.end()) remove_last(parameter, 0);
      if (parameter.name == "generator.bias") remove_last(parameter, kPaddingBias);
    }
  }

 private:
  static constexpr std::array<std::string_view, 3> kTables = {"input_embedding.weight", "output_embedding.weight",
                                                              "generator.weight"};

  void remove_last(TensorInfo& parameter, float needed) const {
    const std::int64_t row_size = parameter.shape.size() == 2 ? parameter.shape[1] : 1;
    const std::int64_t last = --parameter.shape[0];
    const std::size_t kept = static_cast<std::size_t>(last * row_size) * dtype_size(parameter.dtype);
    const TensorInfo row = {parameter.name, parameter.dtype, {row_size}, parameter.bytes.subspan(kept)};
    check(std::ranges::all_of(to_floats(row, caller_), [&](float value) { return value == needed; }),
          "{}: {} has other elements than {} for token {}, needs {}, because Marian has no such token", caller_,
          parameter.name, needed, last, needed);
    parameter.bytes = parameter.bytes.first(kept);
  }

  StoredTensors& parameters_;
  std::string_view caller_;
};

void add_options(const TransformerOptions& options, StoredTensors& arrays) {
  std::string text = write_marian_options(options);
  text += '\0';
  const auto size = std::ssize(text);
  const std::string_view bytes = arrays.keep(std::move(text));
  arrays.tensors.push_back({"special:model.yml", DType::kI8, {size}, std::as_bytes(std::span(bytes))});
}

std::string write_arrays(const ModelFiles& model, std::string_view caller) {
  TransformerOptions options = model.experiment.model;
  StoredTensors parameters = exported_parameters(model, ExportedTypes::kF32, caller);
  if (has_padding_at_end(model)) {
    PaddingRemoval(parameters, caller).run();
    --options.input_vocabulary;
    --options.output_vocabulary;
  }
  StoredTensors arrays = export_parameters(parameters.tensors, marian_layout(options));
  add_options(options, arrays);
  return serialize_npz(arrays.tensors);
}

std::string write_decoder(const SearchOptions& search, const MarianTokenRules& rules, std::string_view input,
                          std::string_view output) {
  std::string text = fmt::format(
      "relative-paths: true\nmodels:\n  - model.npz\nvocabs:\n  - {}\n  - {}\nbeam-size: {}\nnormalize: {}\n"
      "word-penalty: 0\n",
      input, output, search.beam, json_number(exported_length_penalty(search)));
  if (rules.allow_unknown) text += "allow-unk: true\n";
  if (rules.allow_control) text += "allow-special: true\n";
  if (has_marian_lengths(search)) text += fmt::format("max-length-factor: {}\n", json_number(search.length_factor));
  return text;
}

}  // namespace

std::map<std::string, std::string> export_marian(const ModelFiles& model, std::string_view caller) {
  check_marian_options(model, caller);
  const Vocabularies& vocabularies = model.codec.vocabularies;
  const bool is_shared = model.experiment.vocabulary.shared;
  const std::string input = is_shared ? "vocab.yml" : "source.vocab.yml";
  const std::string output = is_shared ? "vocab.yml" : "target.vocab.yml";
  std::map<std::string, std::string> files;
  files[input] = write_marian_vocabulary(*vocabularies.input, true, caller);
  if (!is_shared) files[output] = write_marian_vocabulary(*vocabularies.output, false, caller);
  files["source.spm"] = piece_model(*vocabularies.input);
  files["target.spm"] = piece_model(*vocabularies.output);
  files["decoder.yml"] =
      write_decoder(model.experiment.search, marian_token_rules(*vocabularies.output), input, output);
  files["model.npz"] = write_arrays(model, caller);
  return files;
}

}  // namespace edgewise
