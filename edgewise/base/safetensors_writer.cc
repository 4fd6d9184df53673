// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_set>

#include "edgewise/base/checked.h"
#include "edgewise/base/json.h"
#include "edgewise/base/safetensors.h"
#include "edgewise/base/safetensors_format.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

constexpr std::string_view kFunction = "serialize_safetensors";

void check_name(std::string_view name) {
  check(name != kMetadataKey, "{}: a tensor is named \"{}\", needs another name", kFunction, kMetadataKey);
  check(!has_control_character(name), "{}: a tensor is named {}, needs UTF-8 without control characters", kFunction,
        in_quotes(name));
}

void check_size(const TensorInfo& tensor) {
  const std::string what = fmt::format("{}: the size of {}", kFunction, in_quotes(tensor.name));
  check(tensor.shape.size() <= kMostDimensions, "{}: {} has {} dimensions, needs at most {}", kFunction,
        in_quotes(tensor.name), tensor.shape.size(), kMostDimensions);
  std::uint64_t needed = dtype_size(tensor.dtype);
  for (const std::int64_t dimension : tensor.shape) {
    check(dimension >= 0 && static_cast<std::uint64_t>(dimension) <= kLargestDimension,
          "{}: {} has dimension {}, needs 0 to {}", kFunction, in_quotes(tensor.name), dimension, kLargestDimension);
    needed = checked_multiply(needed, static_cast<std::uint64_t>(dimension), what);
  }
  check(tensor.bytes.size() == needed, "{}: {} has {} bytes, needs {} for {} of shape [{}]", kFunction,
        in_quotes(tensor.name), tensor.bytes.size(), needed, dtype_name(tensor.dtype), fmt::join(tensor.shape, ", "));
}

void check_tensors(std::span<const TensorInfo> tensors) {
  check(tensors.size() <= kMostTensors, "{}: tensors has {} entries, needs at most {}", kFunction, tensors.size(),
        kMostTensors);
  std::unordered_set<std::string_view> names;
  for (const TensorInfo& tensor : tensors) {
    check_name(tensor.name);
    check_size(tensor);
    check(names.insert(tensor.name).second, "{}: two tensors are named {}, needs a name for each", kFunction,
          in_quotes(tensor.name));
  }
}

void check_metadata(const SafetensorsMetadata& metadata) {
  std::size_t bytes = 0;
  for (const auto& [key, value] : metadata) {
    check(!find_bad_utf8(key) && !find_bad_utf8(value), "{}: metadata {} is {}, needs UTF-8", kFunction, in_quotes(key),
          in_quotes(value));
    bytes += key.size() + value.size();
  }
  check(bytes <= kMostMetadataBytes, "{}: metadata has {} bytes, needs at most {}", kFunction, bytes,
        kMostMetadataBytes);
}

// Larger types first, so that each tensor is aligned for its own.
std::vector<const TensorInfo*> in_file_order(std::span<const TensorInfo> tensors) {
  std::vector<const TensorInfo*> order;
  for (const TensorInfo& tensor : tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const TensorInfo* left, const TensorInfo* right) {
    const std::size_t left_size = dtype_size(left->dtype);
    const std::size_t right_size = dtype_size(right->dtype);
    return left_size != right_size ? left_size > right_size : left->name < right->name;
  });
  return order;
}

std::string header_of(const std::vector<const TensorInfo*>& order, const SafetensorsMetadata& metadata) {
  std::string members;
  const auto add = [&](std::string_view key, const std::string& json) {
    members += fmt::format("{}{}:{}", members.empty() ? "" : ",", json_quoted(key), json);
  };
  if (!metadata.empty()) {
    JsonObject object;
    for (const auto& [key, value] : metadata) object.add(key, value);
    add(kMetadataKey, object.text());
  }
  std::uint64_t begin = 0;
  for (const TensorInfo* tensor : order) {
    const std::uint64_t end = checked_add(begin, tensor->bytes.size(), "serialize_safetensors: the file's size");
    add(tensor->name, fmt::format(R"({{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", dtype_name(tensor->dtype),
                                  fmt::join(tensor->shape, ","), begin, end));
    begin = end;
  }
  std::string header = "{" + members + "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  check(header.size() <= kLargestHeader, "{}: the header has {} bytes, needs at most {}", kFunction, header.size(),
        kLargestHeader);
  return header;
}

}  // namespace

std::string serialize_safetensors(std::span<const TensorInfo> tensors, const SafetensorsMetadata& metadata) {
  check_tensors(tensors);
  check_metadata(metadata);
  const auto order = in_file_order(tensors);
  const std::string header = header_of(order, metadata);

  std::size_t size = kLengthBytes + header.size();
  for (const TensorInfo* tensor : order) size += tensor->bytes.size();
  std::string file;
  file.reserve(size);
  for (std::size_t i = 0; i < kLengthBytes; ++i) file += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  file += header;
  for (const TensorInfo* tensor : order) {
    file.append(reinterpret_cast<const char*>(tensor->bytes.data()), tensor->bytes.size());
  }
  return file;
}

}  // namespace edgewise
