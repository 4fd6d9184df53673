// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "edgewise/base/config.h"
#include "edgewise/base/directory.h"
#include "edgewise/base/error.h"
#include "edgewise/translate/model_files.h"

namespace edgewise {
namespace {

constexpr std::string_view kCaller = "average";

/// The sum of the parameters of several models.
class ParameterSum {
 public:
  explicit ParameterSum(const ModelFiles& first) : first_name_(first.parameters_name) {
    for (const TensorInfo& tensor : first.parameters.tensors()) {
      check(tensor.dtype == DType::kF32, "{}: {}: {} is {}, needs to be F32", kCaller, first_name_, tensor.name,
            dtype_name(tensor.dtype));
      sums_[tensor.name] = {tensor.shape, std::vector<double>(tensor.bytes.size() / sizeof(float), 0.0)};
    }
  }

  void add(const ModelFiles& model) {
    check_names(model);
    for (const TensorInfo& tensor : model.parameters.tensors()) {
      Sum& sum = sums_.at(tensor.name);
      check(tensor.dtype == DType::kF32 && tensor.shape == sum.shape,
            "{}: {}: {} is {} [{}], but in {} it is F32 [{}]; they must be equal", kCaller, model.parameters_name,
            tensor.name, dtype_name(tensor.dtype), fmt::join(tensor.shape, ", "), first_name_,
            fmt::join(sum.shape, ", "));
      for (std::size_t i = 0; i < sum.values.size(); ++i) {
        float value = 0;
        std::memcpy(&value, tensor.bytes.data() + i * sizeof value, sizeof value);
        sum.values[i] += value;
      }
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

  void check_names(const ModelFiles& model) const {
    for (const TensorInfo& tensor : model.parameters.tensors()) {
      check(sums_.contains(tensor.name), "{}: {} has {}, which {} has not; they must have the same tensors", kCaller,
            model.parameters_name, tensor.name, first_name_);
    }
    for (const auto& [name, sum] : sums_) {
      check(model.parameters.find(name) != nullptr, "{}: {} has no {}, which {} has; they must have the same tensors",
            kCaller, model.parameters_name, name, first_name_);
    }
  }

  std::string first_name_;
  std::map<std::string, Sum> sums_;
  double count_ = 0;
};

/// Returns, by name, the texts that must be equal in all models because they determine the meaning of the parameters.
std::map<std::string, std::string> describe(const ModelFiles& model) {
  return {{"[model] section of config.toml", to_toml(model.experiment.model)},
          {"input vocabulary", model.codec.vocabularies.input->serialize()},
          {"output vocabulary", model.codec.vocabularies.output->serialize()},
          {"case of inputs", model.codec.vocabularies.input->serialize_case()},
          {"case of outputs", model.codec.vocabularies.output->serialize_case()}};
}

}  // namespace

void average_models(std::span<const std::filesystem::path> models, const std::filesystem::path& destination) {
  check(!models.empty(), "{}: models is empty, needs at least one", kCaller);
  const ModelFiles first = read_model_files(models.front(), kCaller);
  const auto description = describe(first);
  ParameterSum sum(first);
  sum.add(first);
  for (const std::filesystem::path& path : models.subspan(1)) {
    const ModelFiles model = read_model_files(path, kCaller);
    for (const auto& [what, text] : describe(model)) {
      check(text == description.at(what), "{}: {} has another {} than {}; they must be equal", kCaller, path.string(),
            what, models.front().string());
    }
    sum.add(model);
  }
  DirectoryWriter writer(destination, kCaller);
  for (const auto& [name, bytes] : first.description) writer.write(name, bytes);
  writer.write(kParametersFile, sum.mean());
  writer.commit();
}

}  // namespace edgewise
