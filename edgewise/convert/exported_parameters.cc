// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/exported_parameters.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/base/files/json.h"
#include "edgewise/base/files/stored_parameters.h"
#include "edgewise/convert/parameter_list.h"

namespace edgewise {
namespace {

void add_floats(const SafetensorsFile& file, const TensorInfo& stored, StoredTensors& exported) {
  std::vector<float> values(stored.bytes.size() / dtype_size(stored.dtype));
  read_values(file, stored, values);
  const std::string_view bytes =
      exported.keep(std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)));
  exported.tensors.push_back({stored.name, DType::kF32, stored.shape, std::as_bytes(std::span(bytes))});
}

bool is_attention_bias(std::string_view name) {
  return name.ends_with(".bias") && name.find("_attention.") != std::string_view::npos;
}

void check_case(CaseKind kind, std::string_view option, std::string_view caller) {
  if (kind != CaseKind::kKeep) refuse_option(caller, option, enum_name(kind), "keep");
}

}  // namespace

void refuse_option(std::string_view caller, std::string_view option, std::string_view has, std::string_view needs) {
  fail("{}: {} is {}, needs {}", caller, option, has, needs);
}

void check_exportable(const Experiment& experiment, std::string_view caller) {
  const TransformerOptions& model = experiment.model;
  constexpr double kEpsilon = 1e-5;  // norms of transformers and CTranslate2 have no other
  if (model.kind != ModelKind::kTransformer) refuse_option(caller, "model.kind", enum_name(model.kind), "transformer");
  if (model.score != ScoreKind::kDot) refuse_option(caller, "model.score", enum_name(model.score), "dot");
  if (model.clamp) refuse_option(caller, "model.clamp", json_number(*model.clamp), "no limit");
  if (model.norm != NormKind::kLayerNorm) refuse_option(caller, "model.norm", enum_name(model.norm), "layer_norm");
  if (model.norm_epsilon != kEpsilon) {
    refuse_option(caller, "model.norm_epsilon", json_number(model.norm_epsilon), json_number(kEpsilon));
  }
  check_case(experiment.vocabulary.input_case, "vocabulary.input_case", caller);
  check_case(experiment.vocabulary.output_case, "vocabulary.output_case", caller);
}

StoredTensors exported_parameters(const ModelFiles& model, ExportedTypes types, std::string_view caller) {
  const TransformerOptions& stored_options = model.experiment.model;
  TransformerOptions options = stored_options;
  options.attention_bias = true;
  StoredTensors exported;
  for (const ParameterShape& parameter : list_parameters(options)) {
    if (!stored_options.attention_bias && is_attention_bias(parameter.name)) {
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
      add_floats(model.parameters, stored, exported);
    }
  }
  return exported;
}

const TensorInfo& find_parameter(const StoredTensors& parameters, std::string_view name) {
  const auto found = std::ranges::find(parameters.tensors, name, &TensorInfo::name);
  check(found != parameters.tensors.end(), "find_parameter: there is no {}, needs one", name);
  return *found;
}

bool are_zeros(const TensorInfo& parameter, std::int64_t first, std::int64_t count) {
  const std::vector<float> values = to_floats(parameter, "are_zeros");
  const auto begin = values.begin() + first;
  return std::all_of(begin, begin + count, [](float value) { return value == 0; });
}

}  // namespace edgewise
