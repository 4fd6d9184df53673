// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "edgewise/base/config.h"
#include "edgewise/base/directory.h"
#include "edgewise/base/error.h"
#include "edgewise/runtime/runtime_model.h"
#include "edgewise/translate/model_files.h"

namespace edgewise {
namespace {

constexpr std::string_view kCaller = "average";

/// Throws Error unless the parameters are the fp32 tensors that the model's config describes.
void check_tensors(const ModelFiles& model) {
  RuntimeModel(model.experiment.model, model.parameters, model.parameters_name, RuntimePrecision::kFp32);
}

/// The sum of the parameters of several models that have the same tensors, all in fp32.
class ParameterSum {
 public:
  explicit ParameterSum(const ModelFiles& first) {
    for (const TensorInfo& tensor : first.parameters.tensors()) {
      sums_[tensor.name] = {tensor.shape, std::vector<double>(tensor.bytes.size() / sizeof(float), 0.0)};
    }
  }

  /// Adds a model with the same tensors as the first.
  void add(const ModelFiles& model) {
    for (const TensorInfo& tensor : model.parameters.tensors()) {
      Sum& sum = sums_.at(tensor.name);
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
  DirectoryWriter::check_target(destination, kCaller);
  const ModelFiles first = read_model_files(models.front(), kCaller);
  check_tensors(first);
  const std::map<std::string, std::string> description = describe(first);
  ParameterSum sum(first);
  sum.add(first);
  for (const std::filesystem::path& path : models.subspan(1)) {
    const ModelFiles model = read_model_files(path, kCaller);
    for (const auto& [what, text] : describe(model)) {
      check(text == description.at(what), "{}: {} has another {} than {}; they must be equal", kCaller, path.string(),
            what, models.front().string());
    }
    check_tensors(model);
    sum.add(model);
  }
  DirectoryWriter writer(destination, kCaller);
  for (const auto& [name, bytes] : vocabulary_files(first.codec.vocabularies, first.experiment.vocabulary.shared)) {
    writer.write(name, bytes);
  }
  writer.write(kConfigFile, first.config);
  writer.write(kParametersFile, sum.mean());
  writer.commit();
}

}  // namespace edgewise
