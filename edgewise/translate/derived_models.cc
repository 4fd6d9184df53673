// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdint>
#include <filesystem>
#include <list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edgewise/base/config/config.h"
#include "edgewise/base/error.h"
#include "edgewise/base/files/stored_parameters.h"
#include "edgewise/runtime/runtime_model.h"
#include "edgewise/runtime/weight_matrix.h"
#include "edgewise/translate/model_files.h"
#include "edgewise/translate/vocabulary_files.h"

// Model directories that are made of other ones.

namespace edgewise {
namespace {

/// Throws Error unless the parameters are the tensors that the model's config describes.
void check_tensors(const ModelFiles& model) {
  RuntimeModel(model.experiment.model, model.parameters, model.parameters_name, RuntimePrecision::kFp32);
}

constexpr std::string_view kCaller = "average";

/// The sum of the parameters of several models that have the same parameters, stored in any way.
class ParameterSum {
 public:
  /// Adds a model.
  void add(const ModelFiles& model) {
    for (const TensorInfo& tensor : model.parameters.tensors()) {
      if (are_scales(model.parameters, tensor)) continue;
      std::vector<float> values(tensor.bytes.size() / dtype_size(tensor.dtype));
      read_values(model.parameters, tensor, values);
      Sum& sum = sums_[tensor.name];
      sum.shape = tensor.shape;
      sum.values.resize(values.size());
      for (std::size_t i = 0; i < values.size(); ++i) sum.values[i] += values[i];
    }
    ++count_;
  }

  /// Returns the mean as the bytes of a safetensors file.
  std::string mean() const {
    std::map<std::string, std::vector<float>> means;
    std::vector<TensorInfo> tensors;
    for (const auto& [name, sum] : sums_) {
      std::vector<float>& mean = means[name];
      for (const double value : sum.values) mean.push_back(static_cast<float>(value / count_));
      tensors.push_back({name, DType::kF32, sum.shape, std::as_bytes(std::span(mean))});
    }
    return serialize_safetensors(tensors);
  }

 private:
  struct Sum {
    std::vector<std::int64_t> shape;
    std::vector<double> values;
  };

  std::map<std::string, Sum> sums_;
  double count_ = 0;
};

/// Returns the options that decide what a model computes: the others, which act in training alone or not at all, have
/// their defaults.
TransformerOptions computing_options(TransformerOptions options) {
  const TransformerOptions defaults;
  options.dropout = defaults.dropout;
  options.universal.ponder_weight = defaults.universal.ponder_weight;
  options.exits.weights = defaults.exits.weights;
  return options;
}

/// Returns, by name, the texts that must be equal in all models because they determine the meaning of the parameters.
std::map<std::string, std::string> describe(const ModelFiles& model) {
  return {{"[model] section of config.toml", to_toml(computing_options(model.experiment.model))},
          {"input vocabulary", model.codec.vocabularies.input->serialize()},
          {"output vocabulary", model.codec.vocabularies.output->serialize()},
          {"SentencePiece model of inputs", model.codec.vocabularies.input->serialize_pieces()},
          {"SentencePiece model of outputs", model.codec.vocabularies.output->serialize_pieces()},
          {"case of inputs", model.codec.vocabularies.input->serialize_case()},
          {"case of outputs", model.codec.vocabularies.output->serialize_case()}};
}

/// Returns the bytes of a safetensors file with the tensors of `file`, large matrices in 8 bits.
std::string quantise_tensors(const SafetensorsFile& file) {
  std::list<std::vector<float>> floats;  // memory of `tensors`, as `matrices` is
  std::list<QuantisedMatrix> matrices;
  std::vector<TensorInfo> tensors;
  for (const TensorInfo& tensor : file.tensors()) {
    if (are_scales(file, tensor) || find_scales(file, tensor) != nullptr) {
      tensors.push_back(tensor);
      continue;
    }
    std::vector<float> values(tensor.bytes.size() / dtype_size(tensor.dtype));
    read_values(file, tensor, values);
    if (!is_stored_in_8_bits(tensor.name, tensor.shape.size())) {
      tensors.push_back(
          {tensor.name, DType::kF32, tensor.shape, std::as_bytes(std::span(floats.emplace_back(std::move(values))))});
      continue;
    }
    const QuantisedMatrix& matrix = matrices.emplace_back(quantise_rows(values, tensor.shape[1]));
    tensors.push_back({tensor.name, DType::kI8, tensor.shape, std::as_bytes(std::span(matrix.values))});
    tensors.push_back(
        {tensor.name + ".scale", DType::kF32, {tensor.shape[0]}, std::as_bytes(std::span(matrix.scales))});
  }
  return serialize_safetensors(tensors);
}

}  // namespace

void average_models(std::span<const std::filesystem::path> models, const std::filesystem::path& destination,
                    Overwrite overwrite) {
  check(!models.empty(), "{}: models is empty, needs at least one", kCaller);
  check_output_directory(destination, models, overwrite, kCaller);
  const ModelFiles first = read_model_files(models.front(), kCaller);
  check_tensors(first);
  const std::map<std::string, std::string> description = describe(first);
  ParameterSum sum;
  sum.add(first);
  for (const std::filesystem::path& path : models.subspan(1)) {
    const ModelFiles model = read_model_files(path, kCaller);
    for (const auto& [what, text] : describe(model)) {
      check(text == description.at(what), "{}: {} has another {} than {}, needs the same", kCaller, path.string(), what,
            models.front().string());
    }
    check_tensors(model);
    sum.add(model);
  }
  write_derived_model(first, sum.mean(), destination, kCaller);
}

void quantise_model(const std::filesystem::path& model, const std::filesystem::path& destination, Overwrite overwrite) {
  constexpr std::string_view kQuantise = "quantise";
  check_output_directory(destination, std::array{model}, overwrite, kQuantise);
  const ModelFiles files = read_model_files(model, kQuantise);
  check_tensors(files);
  write_derived_model(files, quantise_tensors(files.parameters), destination, kQuantise);
}

}  // namespace edgewise
