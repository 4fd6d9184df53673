// SPDX-License-Identifier: Apache-2.0
#include "edgewise/nn/serialize.h"

#include <ATen/ops/empty_like.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/files/stored_parameters.h"
#include "edgewise/base/utf8.h"
#include "edgewise/options/transformer_options.h"

namespace edgewise {
namespace {

constexpr std::size_t kMaxListed = 8;  // differences in an error

DType dtype_of(const NamedTensor& named) {
  switch (named.tensor.scalar_type()) {
    case at::kFloat:
      return DType::kF32;
    case at::kDouble:
      return DType::kF64;
    case at::kLong:
      return DType::kI64;
    default:
      fail("list_tensors: {} is {}, needs Float, Double or Long", named.name, at::toString(named.tensor.scalar_type()));
  }
}

/// Describes the difference between a file and one with the tensor; empty if there is none. Only an fp32 tensor may be
/// stored in another type.
std::string describe_difference(const NamedTensor& named, const SafetensorsFile& file) {
  const std::span<const std::int64_t> shape(named.tensor.sizes().data(), named.tensor.sizes().size());
  const DType dtype = dtype_of(named);
  if (dtype == DType::kF32) return edgewise::describe_difference(file, named.name, shape);
  const TensorInfo* info = file.find(named.name);
  if (info == nullptr) return "lacks " + quote(named.name);
  if (info->dtype == dtype && std::ranges::equal(info->shape, shape)) return "";
  return fmt::format("has {} as {} [{}] instead of {} [{}]", quote(named.name), dtype_name(info->dtype),
                     fmt::join(info->shape, ", "), dtype_name(dtype), fmt::join(shape, ", "));
}

/// Lists the differences between the tensors and the file, as parts of a sentence.
std::vector<std::string> list_differences(std::span<const NamedTensor> tensors, const SafetensorsFile& file) {
  std::vector<std::string> by_name;
  std::vector<std::string> by_type;
  std::set<std::string_view> known;
  for (const NamedTensor& named : tensors) {
    known.insert(named.name);
    std::string difference = describe_difference(named, file);
    if (difference.empty()) continue;
    (difference.starts_with("lacks ") ? by_name : by_type).push_back(std::move(difference));
  }
  for (const TensorInfo& info : file.tensors()) {
    if (known.contains(info.name) || are_scales(file, info)) continue;
    by_name.push_back("has " + quote(info.name) + ", which is not needed");
  }
  by_name.insert(by_name.end(), by_type.begin(), by_type.end());
  if (by_name.size() > kMaxListed) {
    const std::size_t num_others = by_name.size() - kMaxListed;
    by_name.resize(kMaxListed);
    by_name.push_back(fmt::format("has {} more differences", num_others));
  }
  return by_name;
}

}  // namespace

ListedTensors list_tensors(std::span<const NamedTensor> tensors) {
  ListedTensors listed;
  for (const NamedTensor& named : tensors) {
    const at::Tensor& owner = listed.owners.emplace_back(named.tensor.detach().cpu().contiguous());
    const auto* data = static_cast<const std::byte*>(owner.const_data_ptr());
    listed.infos.push_back({named.name, dtype_of(named), named.tensor.sizes().vec(), {data, owner.nbytes()}});
  }
  return listed;
}

std::string serialize_tensors(std::span<const NamedTensor> tensors, const SafetensorsMetadata& metadata,
                              const StopRequest* stop) {
  return serialize_safetensors(list_tensors(tensors).infos, metadata, stop);
}

void load_tensors(std::span<const NamedTensor> tensors, const SafetensorsFile& file, std::string_view file_name) {
  const std::vector<std::string> differences = list_differences(tensors, file);
  check(differences.empty(), "load_tensors: {} {}, {}", file_name, fmt::join(differences, ", "), kNeedsTensorsOfConfig);
  for (const NamedTensor& named : tensors) {
    const TensorInfo& info = *file.find(named.name);
    const at::Tensor tensor = named.tensor.detach();
    check(tensor.is_contiguous(), "load_tensors: {} is strided, needs to be contiguous", named.name);
    const at::Tensor values = tensor.is_cpu() ? tensor : at::empty_like(tensor, tensor.options().device(at::kCPU));
    if (named.tensor.scalar_type() == at::kFloat) {
      read_values(file, info, {values.mutable_data_ptr<float>(), static_cast<std::size_t>(values.numel())});
    } else {
      std::memcpy(values.mutable_data_ptr(), info.bytes.data(), info.bytes.size());
    }
    if (!tensor.is_cpu()) tensor.copy_(values);
  }
}

void move_parameters(std::span<const NamedTensor> tensors, at::Device device) {
  for (const NamedTensor& named : tensors) {
    named.tensor.mutable_grad() = at::Tensor();
    if (named.tensor.device() != device) named.tensor.set_data(named.tensor.detach().to(device));
  }
}

std::int64_t count_parameters(std::span<const NamedTensor> tensors) {
  std::int64_t count = 0;
  for (const NamedTensor& named : tensors) count += named.tensor.numel();
  return count;
}

}  // namespace edgewise
