// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/weight_packer.h"

#include <cstring>

#include "edgewise/base/error.h"
#include "edgewise/base/files/stored_parameters.h"
#include "edgewise/base/utf8.h"
#include "edgewise/options/transformer_options.h"

namespace edgewise {
namespace {

template <typename T>
std::vector<T> copy_elements(const TensorInfo& tensor) {
  std::vector<T> elements(tensor.bytes.size() / sizeof(T));
  if (!elements.empty()) std::memcpy(elements.data(), tensor.bytes.data(), tensor.bytes.size());
  return elements;
}

std::vector<float> read_floats(const SafetensorsFile& file, const TensorInfo& tensor) {
  std::vector<float> values(tensor.bytes.size() / dtype_size(tensor.dtype));
  read_values(file, tensor, values);
  return values;
}

}  // namespace

ParameterReader::ParameterReader(const SafetensorsFile& file, std::string file_name, const StopRequest* stop)
    : file_(file), file_name_(std::move(file_name)), stop_(stop) {}

const TensorInfo& ParameterReader::find(const std::string& name, std::initializer_list<std::int64_t> shape) {
  throw_if_set(stop_);
  const std::string difference = describe_difference(file_, name, std::span(shape.begin(), shape.size()));
  check(difference.empty(), "read_parameters: {} {}, {}", file_name_, difference, kNeedsTensorsOfConfig);
  read_.insert(name);
  return *file_.find(name);
}

std::vector<float> ParameterReader::read(const std::string& name, std::initializer_list<std::int64_t> shape) {
  return read_floats(file_, find(name, shape));
}

WeightMatrix ParameterReader::read_matrix(const std::string& name, std::int64_t rows, std::int64_t columns) {
  const TensorInfo& tensor = find(name, {rows, columns});
  if (const TensorInfo* scales = find_scales(file_, tensor); scales != nullptr) {
    WeightMatrix matrix(copy_elements<std::int8_t>(tensor), copy_elements<float>(*scales), columns);
    matrix.set_input_multiplier(find_input_multiplier(file_, tensor, fmt::format("read_parameters: {}", file_name_)));
    return matrix;
  }
  if (tensor.dtype == DType::kBF16) return {copy_elements<BFloat16>(tensor), {}, columns};
  return {read_floats(file_, tensor), {}, columns};
}

void ParameterReader::expect_all_read() const {
  for (const TensorInfo& tensor : file_.tensors()) {
    check(read_.contains(tensor.name) || are_scales(file_, tensor),
          "read_parameters: {} has {}, which is not needed, {}", file_name_, quote(tensor.name), kNeedsTensorsOfConfig);
  }
}

}  // namespace edgewise
