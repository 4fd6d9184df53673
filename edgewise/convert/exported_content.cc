// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/exported_content.h"

#include <set>
#include <string>

#include "edgewise/base/error.h"
#include "edgewise/base/files/stored_parameters.h"
#include "edgewise/convert/tensor_layout.h"

namespace edgewise {

StoredTensors exported_parameters(const ModelFiles& model, ExportedTypes types, std::string_view caller) {
  TransformerOptions options = model.experiment.model;
  options.attention_bias = true;
  return exported_parameters(model, options, types, caller);
}

StoredTensors exported_parameters(const ModelFiles& model, const TransformerOptions& options, ExportedTypes types,
                                  std::string_view caller) {
  std::set<std::string> names;
  for (const ParameterShape& parameter : list_parameters(model.experiment.model)) names.insert(parameter.name);
  StoredTensors exported;
  for (const ParameterShape& parameter : list_parameters(options)) {
    if (!names.contains(parameter.name)) {
      add_zeros(parameter.name, parameter.shape, exported);
      continue;
    }
    const std::string difference = describe_difference(model.parameters, parameter.name, parameter.shape);
    check(difference.empty(), "{}: {} {}, {}", caller, model.parameters_name, difference, kNeedsTensorsOfConfig);
    const TensorInfo& stored = *model.parameters.find(parameter.name);
    const bool is_float =
        stored.dtype == DType::kF32 || (types == ExportedTypes::kStored && stored.dtype != DType::kI8);
    if (is_float) {
      exported.tensors.push_back(stored);
    } else {
      std::vector<float> values(stored.bytes.size() / dtype_size(stored.dtype));
      read_values(model.parameters, stored, values);
      exported.add(stored.name, stored.shape, values);
    }
  }
  return exported;
}

TokenList mapped_tokens(const Vocabulary& vocabulary) { return parse_token_list(vocabulary.serialize(), "the model"); }

std::vector<std::string> all_tokens(const Vocabulary& vocabulary) {
  std::vector<std::string> tokens;
  for (std::int64_t i = 0; i < vocabulary.size(); ++i) tokens.emplace_back(vocabulary.token_text(i));
  return tokens;
}

std::string piece_model(const Vocabulary& vocabulary) {
  return vocabulary.kind() == VocabularyKind::kSentencePiece ? vocabulary.serialize() : vocabulary.serialize_pieces();
}

}  // namespace edgewise
