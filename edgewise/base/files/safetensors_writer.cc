// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_set>

#include "edgewise/base/checked.h"
#include "edgewise/base/files/json.h"
#include "edgewise/base/files/safetensors.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

constexpr std::string_view kFunction = "serialize_safetensors";

void check_name(std::string_view name) {
  check(name != detail::kMetadataKey, "{}: a tensor is named \"{}\", needs another name", kFunction,
        detail::kMetadataKey);
  check(!has_control_character(name), "{}: a tensor is named {}, needs UTF-8 without control characters", kFunction,
        quote(name));
}

void check_shape_and_size(const TensorInfo& tensor) {
  const std::string what = fmt::format("{}: the size of {}", kFunction, quote(tensor.name));
  check(tensor.shape.size() <= detail::kMaxDimensions, "{}: {} has {} dimensions, needs at most {}", kFunction,
        quote(tensor.name), tensor.shape.size(), detail::kMaxDimensions);
  std::uint64_t needed = dtype_size(tensor.dtype);
  for (const std::int64_t dimension : tensor.shape) {
    check(dimension >= 0 && static_cast<std::uint64_t>(dimension) <= detail::kMaxDimension,
          "{}: {} has dimension {}, needs 0 to {}", kFunction, quote(tensor.name), dimension, detail::kMaxDimension);
    needed = checked_multiply(needed, static_cast<std::uint64_t>(dimension), what);
  }
  check(tensor.bytes.size() == needed, "{}: {} has {} bytes, needs {} for {} of shape [{}]", kFunction,
        quote(tensor.name), tensor.bytes.size(), needed, dtype_name(tensor.dtype), fmt::join(tensor.shape, ", "));
}

void check_tensors(std::span<const TensorInfo> tensors) {
  check(tensors.size() <= detail::kMaxTensors, "{}: tensors has {} entries, needs at most {}", kFunction,
        tensors.size(), detail::kMaxTensors);
  std::unordered_set<std::string_view> names;
  for (const TensorInfo& tensor : tensors) {
    check_name(tensor.name);
    check_shape_and_size(tensor);
    check(names.insert(tensor.name).second, "{}: two tensors are named {}, needs a name for each", kFunction,
          quote(tensor.name));
  }
}

void check_metadata(const SafetensorsMetadata& metadata) {
  std::size_t bytes = 0;
  for (const auto& [key, value] : metadata) {
    check(!find_bad_utf8(key) && !find_bad_utf8(value), "{}: metadata {} is {}, needs UTF-8", kFunction, quote(key),
          quote(value));
    bytes += key.size() + value.size();
  }
  check(bytes <= detail::kMaxMetadataBytes, "{}: metadata has {} bytes, needs at most {}", kFunction, bytes,
        detail::kMaxMetadataBytes);
}

// Returns the tensors in descending order of element size, so that each tensor is aligned for its type in the file.
std::vector<const TensorInfo*> sort_by_alignment(std::span<const TensorInfo> tensors) {
  std::vector<const TensorInfo*> order;
  for (const TensorInfo& tensor : tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const TensorInfo* left, const TensorInfo* right) {
    const std::size_t left_size = dtype_size(left->dtype);
    const std::size_t right_size = dtype_size(right->dtype);
    return left_size != right_size ? left_size > right_size : left->name < right->name;
  });
  return order;
}

std::string build_header(const std::vector<const TensorInfo*>& order, const SafetensorsMetadata& metadata) {
  std::string members;
  const auto add = [&](std::string_view key, const std::string& json) {
    members += fmt::format("{}{}:{}", members.empty() ? "" : ",", quote_json(key), json);
  };
  if (!metadata.empty()) {
    JsonObject object;
    for (const auto& [key, value] : metadata) object.add(key, value);
    add(detail::kMetadataKey, object.text());
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
  check(header.size() <= detail::kMaxHeaderBytes, "{}: the header has {} bytes, needs at most {}", kFunction,
        header.size(), detail::kMaxHeaderBytes);
  return header;
}

}  // namespace

std::string serialize_safetensors(std::span<const TensorInfo> tensors, const SafetensorsMetadata& metadata,
                                  const StopRequest* stop) {
  check_tensors(tensors);
  check_metadata(metadata);
  const auto order = sort_by_alignment(tensors);
  const std::string header = build_header(order, metadata);

  std::size_t size = detail::kLengthBytes + header.size();
  for (const TensorInfo* tensor : order) size += tensor->bytes.size();
  std::string file;
  file.reserve(size);
  for (std::size_t i = 0; i < detail::kLengthBytes; ++i) file += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  file += header;
  for (const TensorInfo* tensor : order) {
    throw_if_set(stop);
    file.append(reinterpret_cast<const char*>(tensor->bytes.data()), tensor->bytes.size());
  }
  return file;
}

}  // namespace edgewise
