// SPDX-License-Identifier: Apache-2.0
#include "edgewise/nn/serialize.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

DType dtype_of(const NamedTensor& named) {
  switch (named.tensor.scalar_type()) {
    case at::kFloat:
      return DType::kF32;
    case at::kDouble:
      return DType::kF64;
    case at::kLong:
      return DType::kI64;
    default:
      fail("serialize_tensors: {} is {}, needs Float, Double or Long", named.name,
           at::toString(named.tensor.scalar_type()));
  }
}

template <typename Sizes>
std::string describe(DType dtype, const Sizes& shape) {
  return fmt::format("{} [{}]", dtype_name(dtype), fmt::join(shape, ", "));
}

/// All that keeps `file` from being just these tensors, as parts of a sentence.
std::vector<std::string> differences(std::span<const NamedTensor> tensors, const SafetensorsFile& file) {
  std::vector<std::string> lacks;
  std::vector<std::string> found;
  std::set<std::string_view> known;
  for (const NamedTensor& named : tensors) {
    known.insert(named.name);
    const TensorInfo* info = file.find(named.name);
    if (info == nullptr) {
      lacks.push_back("lacks " + named.name);
    } else if (info->dtype != dtype_of(named) || !named.tensor.sizes().equals(info->shape)) {
      found.push_back(fmt::format("has {} as {}, {} is needed", named.name, describe(info->dtype, info->shape),
                                  describe(dtype_of(named), named.tensor.sizes())));
    }
  }
  for (const TensorInfo& info : file.tensors()) {
    if (!known.contains(info.name)) lacks.push_back("has " + info.name + ", which is not asked for");
  }
  lacks.insert(lacks.end(), found.begin(), found.end());
  return lacks;
}

}  // namespace

std::string serialize_tensors(std::span<const NamedTensor> tensors, const SafetensorsMetadata& metadata) {
  std::vector<at::Tensor> owners;  // keep the bytes of those that had to be made contiguous
  std::vector<TensorInfo> infos;
  for (const NamedTensor& named : tensors) {
    owners.push_back(named.tensor.detach().contiguous());
    const auto* data = static_cast<const std::byte*>(owners.back().const_data_ptr());
    infos.push_back({named.name, dtype_of(named), named.tensor.sizes().vec(), {data, owners.back().nbytes()}});
  }
  return serialize_safetensors(infos, metadata);
}

void load_tensors(std::span<const NamedTensor> tensors, const SafetensorsFile& file, std::string_view file_name) {
  const std::vector<std::string> wrong = differences(tensors, file);
  check(wrong.empty(), "load_tensors: {} {}", file_name, fmt::join(wrong, "; "));
  for (const NamedTensor& named : tensors) {
    const TensorInfo& info = *file.find(named.name);
    at::Tensor values = at::Tensor(named.tensor.detach());
    check(values.is_contiguous(), "load_tensors: {} is strided, needs to be contiguous", named.name);
    std::memcpy(values.mutable_data_ptr(), info.bytes.data(), info.bytes.size());
  }
}

std::int64_t count_parameters(std::span<const NamedTensor> tensors) {
  std::int64_t count = 0;
  for (const NamedTensor& named : tensors) count += named.tensor.numel();
  return count;
}

}  // namespace edgewise
