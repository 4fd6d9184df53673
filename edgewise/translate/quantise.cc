// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdint>
#include <list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edgewise/base/files/stored_parameters.h"
#include "edgewise/runtime/weight_matrix.h"
#include "edgewise/translate/model_files.h"
#include "edgewise/translate/written_model.h"

namespace edgewise {
namespace {

/// Returns whether a tensor is an embedding table or the weight of a product. The others are few numbers: biases,
/// norms, learned positions, filters and halting units.
bool is_large_matrix(const TensorInfo& tensor) {
  const std::string_view name = tensor.name;
  if (tensor.shape.size() != 2 || !name.ends_with(".weight")) return false;
  for (const std::string_view part : {"embedding.", "generator.", "_attention.", "feed_forward."}) {
    if (name.find(part) != std::string_view::npos) return true;
  }
  return false;
}

/// The tensors of a file with large matrices in 8 bits.
class QuantisedTensors {
 public:
  explicit QuantisedTensors(const SafetensorsFile& file) {
    for (const TensorInfo& tensor : file.tensors()) add(file, tensor);
  }

  /// Returns the bytes of a safetensors file.
  std::string serialize() const { return serialize_safetensors(tensors_); }

 private:
  void add(const SafetensorsFile& file, const TensorInfo& tensor) {
    if (are_scales(file, tensor) || find_scales(file, tensor) != nullptr) {
      tensors_.push_back(tensor);
      return;
    }
    std::vector<float> values(tensor.bytes.size() / dtype_size(tensor.dtype));
    read_values(file, tensor, values);
    if (!is_large_matrix(tensor)) {
      tensors_.push_back({tensor.name, DType::kF32, tensor.shape, std::as_bytes(std::span(keep(std::move(values))))});
      return;
    }
    const QuantisedMatrix& matrix = matrices_.emplace_back(quantise_rows(values, tensor.shape[1]));
    tensors_.push_back({tensor.name, DType::kI8, tensor.shape, std::as_bytes(std::span(matrix.values))});
    tensors_.push_back(
        {tensor.name + ".scale", DType::kF32, {tensor.shape[0]}, std::as_bytes(std::span(matrix.scales))});
  }

  const std::vector<float>& keep(std::vector<float> values) { return floats_.emplace_back(std::move(values)); }

  std::list<std::vector<float>> floats_;  // memory of `tensors_`, as `matrices_` is
  std::list<QuantisedMatrix> matrices_;
  std::vector<TensorInfo> tensors_;
};

}  // namespace

void quantise_model(const std::filesystem::path& model, const std::filesystem::path& destination, Overwrite overwrite) {
  constexpr std::string_view kQuantise = "quantise";
  check_output_directory(destination, std::array{model}, overwrite, kQuantise);
  const ModelFiles files = read_model_files(model, kQuantise);
  check_tensors(files);
  write_with_parameters(files, QuantisedTensors(files.parameters).serialize(), destination, kQuantise);
}

}  // namespace edgewise
