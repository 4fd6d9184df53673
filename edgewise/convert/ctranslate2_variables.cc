// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/ctranslate2_variables.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

constexpr float kOldInt16Scale = 1000;  // scale of models that store none

std::string scale_name(const std::string& name) { return name + "_scale"; }

bool is_quantised(const TensorInfo& variable) {
  return variable.name.ends_with("weight") && (variable.dtype == DType::kI8 || variable.dtype == DType::kI16);
}

bool is_setting(const TensorInfo& variable) {
  constexpr std::array<std::string_view, 3> kTexts = {"unk_token", "bos_token", "eos_token"};
  return variable.shape.empty() || std::ranges::find(kTexts, variable.name) != kTexts.end();
}

std::span<const std::byte> keep_floats(const std::vector<float>& values, StoredTensors& tensors) {
  const std::string_view kept =
      tensors.keep(std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)));
  return std::as_bytes(std::span(kept));
}

/// Makes each alias a variable.
void add_aliases(const std::vector<Ctranslate2Alias>& aliases, std::vector<TensorInfo>& variables) {
  std::unordered_map<std::string, std::size_t> index_of;
  for (std::size_t i = 0; i < variables.size(); ++i) index_of.emplace(variables[i].name, i);
  const auto add = [&](const std::string& name, const std::string& variable) {
    const auto found = index_of.find(variable);
    if (found == index_of.end() || !index_of.emplace(name, variables.size()).second) return;
    TensorInfo copy = variables[found->second];
    copy.name = name;
    variables.push_back(std::move(copy));
  };
  for (const Ctranslate2Alias& alias : aliases) {
    add(alias.name, alias.variable);
    add(scale_name(alias.name), scale_name(alias.variable));
  }
}

class VariableReader {
 public:
  VariableReader(const std::vector<TensorInfo>& variables, const std::string& where) : where_(where) {
    for (const TensorInfo& variable : variables) variables_.emplace(variable.name, &variable);
    for (const TensorInfo& variable : variables) {
      if (is_quantised(variable)) scales_.emplace(scale_name(variable.name), &variable);
    }
    for (const TensorInfo& variable : variables) add(variable);
  }

  Ctranslate2Variables finish() && { return std::move(result_); }

 private:
  void add(const TensorInfo& variable) {
    if (scales_.contains(variable.name)) return;
    if (is_quantised(variable)) {
      add_quantised(variable);
    } else {
      (is_setting(variable) ? result_.settings : result_.tensors).tensors.push_back(variable);
    }
  }

  void add_quantised(const TensorInfo& weight) {
    check(weight.shape.size() == 2, "{}: {} is {} of shape [{}], needs a matrix", where_, quote(weight.name),
          dtype_name(weight.dtype), fmt::join(weight.shape, ", "));
    const std::vector<float> scales = scales_of(weight);
    if (weight.dtype == DType::kI8) {
      add_int8(weight, scales);
    } else {
      add_int16(weight, scales);
    }
  }

  /// Returns the divisor of each row.
  std::vector<float> scales_of(const TensorInfo& weight) const {
    const auto rows = static_cast<std::size_t>(weight.shape[0]);
    const std::string name = scale_name(weight.name);
    const auto found = variables_.find(name);
    if (found == variables_.end()) {
      check(weight.dtype == DType::kI16, "{} has no tensor {}, needs one, because {} is I8", where_, quote(name),
            quote(weight.name));
      return std::vector<float>(rows, kOldInt16Scale);
    }
    std::vector<float> scales = to_floats(*found->second, where_);
    const bool is_one = scales.size() == 1;
    check(is_one || std::ranges::equal(found->second->shape, std::array{weight.shape[0]}),
          "{}: {} has shape [{}], needs [] or [{}]", where_, quote(name), fmt::join(found->second->shape, ", "), rows);
    for (const float scale : scales) {
      check(std::isfinite(scale) && std::isfinite(1 / scale), "{}: {} has the element {}, needs a finite divisor",
            where_, quote(name), scale);
    }
    if (is_one) scales.assign(rows, scales.front());
    return scales;
  }

  void add_int8(const TensorInfo& weight, std::vector<float> scales) {
    for (float& scale : scales) scale = 1 / scale;
    StoredTensors& tensors = result_.tensors;
    tensors.tensors.push_back(weight);
    tensors.tensors.push_back({weight.name + ".scale", DType::kF32, {weight.shape[0]}, keep_floats(scales, tensors)});
  }

  void add_int16(const TensorInfo& weight, const std::vector<float>& scales) {
    const auto columns = static_cast<std::size_t>(weight.shape[1]);
    std::vector<float> values(scales.size() * columns);
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::int16_t element = 0;
      std::memcpy(&element, weight.bytes.data() + i * sizeof(element), sizeof(element));
      values[i] = static_cast<float>(element) / scales[i / columns];
    }
    StoredTensors& tensors = result_.tensors;
    tensors.tensors.push_back({weight.name, DType::kF32, weight.shape, keep_floats(values, tensors)});
  }

  const std::string& where_;
  std::unordered_map<std::string_view, const TensorInfo*> variables_;
  std::unordered_map<std::string, const TensorInfo*> scales_;  // names of scales, and their weights
  Ctranslate2Variables result_;
};

/// Gives variables that have other names in older revisions their newer names.
void rename_old_variables(std::vector<TensorInfo>& variables) {
  for (TensorInfo& variable : variables) {
    constexpr std::string_view kOld = "encoder/embeddings/weight";
    if (variable.name.starts_with(kOld)) variable.name.replace(0, kOld.size(), "encoder/embeddings_0/weight");
  }
}

}  // namespace

Ctranslate2Variables take_ctranslate2_variables(Ctranslate2Model model, const std::string& where) {
  std::vector<TensorInfo>& variables = model.variables.tensors;
  add_aliases(model.aliases, variables);
  rename_old_variables(variables);
  Ctranslate2Variables result = VariableReader(variables, where).finish();
  std::ranges::move(model.variables.memory, std::back_inserter(result.tensors.memory));
  result.settings.memory = result.tensors.memory;
  return result;
}

}  // namespace edgewise
