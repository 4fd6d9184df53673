// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/base/json.h"
#include "edgewise/base/utf8.h"
#include "edgewise/convert/exported_model.h"
#include "edgewise/convert/exported_parameters.h"
#include "edgewise/convert/exported_search.h"
#include "edgewise/convert/exported_tokens.h"
#include "edgewise/convert/marian_layout.h"
#include "edgewise/convert/marian_options.h"
#include "edgewise/convert/marian_tokens.h"
#include "edgewise/convert/npz.h"
#include "edgewise/convert/yaml.h"

namespace edgewise {
namespace {

void check_norms(const TransformerOptions& options, std::string_view caller) {
  const bool is_pre = options.norm_placement == NormPlacement::kPre;
  if (options.final_norm == is_pre) return;
  refuse_option(caller, "model.final_norm", options.final_norm ? "true" : "false",
                fmt::format("{} with norm_placement {}", is_pre, enum_name(options.norm_placement)));
}

void check_marian_options(const TransformerOptions& options, std::string_view caller) {
  check_norms(options, caller);
  if (options.activation == Activation::kGelu) {
    refuse_option(caller, "model.activation", "gelu",
                  "relu or silu, because Marian's gelu is x * sigmoid(1.702 x), another function");
  }
  if (!options.scale_embedding) {
    refuse_option(caller, "model.scale_embedding", "false", "true, because Marian multiplies by sqrt(size)");
  }
  const bool is_position = options.positions == PositionKind::kHalves || options.positions == PositionKind::kLearned;
  if (!is_position) {
    refuse_option(caller, "model.positions", enum_name(options.positions), "halves, or learned with equal tables");
  }
}

void check_positions(const StoredTensors& parameters, std::string_view caller) {
  const auto& input = find_parameter(parameters, "input_positions.weight");
  const auto& output = find_parameter(parameters, "output_positions.weight");
  check(std::ranges::equal(input.bytes, output.bytes),
        "{}: input_positions.weight and output_positions.weight differ, needs equal tables, because Marian has one",
        caller);
}

/// Takes the element of padding, the last one, out of the parameters of the vocabularies.
class PaddingRemoval {
 public:
  PaddingRemoval(StoredTensors& parameters, std::string_view caller) : parameters_(parameters), caller_(caller) {}

  void run() {
    for (TensorInfo& parameter : parameters_.tensors) {
      const bool is_of_vocabulary = std::ranges::find(kOfVocabulary, parameter.name) != kOfVocabulary.end();
      if (is_of_vocabulary) remove_last(parameter);
    }
  }

 private:
  static constexpr std::array<std::string_view, 4> kOfVocabulary = {"input_embedding.weight", "output_embedding.weight",
                                                                    "generator.weight", "generator.bias"};

  void remove_last(TensorInfo& parameter) const {
    const std::int64_t row_size = parameter.shape.size() == 2 ? parameter.shape[1] : 1;
    const std::int64_t last = --parameter.shape[0];
    check(are_zeros(parameter, last * row_size, row_size),
          "{}: {} has elements other than 0 for token {}, needs 0, because Marian begins outputs with a vector of "
          "zeros and has no padding; export to huggingface or ctranslate2",
          caller_, parameter.name, last);
    parameter.bytes = parameter.bytes.first(static_cast<std::size_t>(last * row_size) * dtype_size(parameter.dtype));
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

/// Marian has one array with the positions of both sides.
std::vector<TensorLayout> distinct_layout(const TransformerOptions& options) {
  std::vector<TensorLayout> layout = marian_layout(options);
  std::erase_if(layout, [](const TensorLayout& tensor) { return tensor.parameters[0] == "output_positions.weight"; });
  return layout;
}

std::string write_arrays(const ModelFiles& model, std::string_view caller) {
  const TransformerOptions& options = model.experiment.model;
  StoredTensors parameters = exported_parameters(model, ExportedTypes::kF32, caller);
  if (options.num_learned_positions() > 0) check_positions(parameters, caller);
  PaddingRemoval(parameters, caller).run();
  StoredTensors arrays = export_parameters(parameters.tensors, distinct_layout(options));
  add_options(options, arrays);
  return serialize_npz(arrays.tensors);
}

/// Returns the text of a vocabulary's file. Marian's vocabulary has no token for padding.
std::string write_vocabulary(const Vocabulary& vocabulary, bool has_languages, std::string_view caller) {
  if (vocabulary.kind() != VocabularyKind::kMapped) {
    refuse_option(caller, "vocabulary.kind", enum_name(vocabulary.kind()),
                  "mapped, because Marian begins outputs with a vector of zeros; export to huggingface or ctranslate2");
  }
  const TokenList list = mapped_tokens(vocabulary);
  TokenListBuilder builder = marian_token_list({list.tokens.begin(), list.tokens.end() - 1}, "the vocabulary");
  if (has_languages) builder.add_marian_languages();
  check(std::move(builder).finish()->list() == list,
        "{}: the vocabulary has other rules than Marian, needs </s>, <unk> and, as the last token, {}, which is the "
        "begin token and the only one that outputs may not contain",
        caller, kMarianPadding);
  std::string text;
  for (std::size_t i = 0; i + 1 < list.tokens.size(); ++i)
    text += fmt::format("{}: {}\n", quote_yaml(list.tokens[i]), i);
  return text;
}

std::string write_decoder(const SearchOptions& search, std::string_view input, std::string_view output) {
  return fmt::format(
      "relative-paths: true\nmodels:\n  - model.npz\nvocabs:\n  - {}\n  - {}\nbeam-size: {}\nnormalize: {}\n"
      "word-penalty: 0\n",
      input, output, search.beam, json_number(exported_length_penalty(search)));
}

}  // namespace

std::map<std::string, std::string> export_marian(const ModelFiles& model, std::string_view caller) {
  check_exportable(model.experiment, caller);
  check_marian_options(model.experiment.model, caller);
  const Vocabularies& vocabularies = model.codec.vocabularies;
  const bool is_shared = model.experiment.vocabulary.shared;
  const std::string input = is_shared ? "vocab.yml" : "source.vocab.yml";
  const std::string output = is_shared ? "vocab.yml" : "target.vocab.yml";
  std::map<std::string, std::string> files;
  files[input] = write_vocabulary(*vocabularies.input, true, caller);
  if (!is_shared) files[output] = write_vocabulary(*vocabularies.output, false, caller);
  files["source.spm"] = piece_model(*vocabularies.input);
  files["target.spm"] = piece_model(*vocabularies.output);
  files["decoder.yml"] = write_decoder(model.experiment.search, input, output);
  files["model.npz"] = write_arrays(model, caller);
  return files;
}

}  // namespace edgewise
