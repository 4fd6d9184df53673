// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/stored_tensor.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "edgewise/base/bfloat16.h"
#include "edgewise/base/checked.h"
#include "edgewise/base/files/stored_parameters.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

constexpr std::size_t kMostNamed = 5;  // unused tensors in an error

template <class Element>
Element element_at(std::span<const std::byte> bytes, std::size_t index) {
  Element element;
  std::memcpy(&element, bytes.data() + index * sizeof(Element), sizeof(Element));
  return element;
}

std::vector<float> doubles_to_floats(const TensorInfo& tensor, std::string_view where) {
  std::vector<float> floats(tensor.bytes.size() / sizeof(double));
  for (std::size_t i = 0; i < floats.size(); ++i) {
    const auto value = element_at<double>(tensor.bytes, i);
    floats[i] = static_cast<float>(value);
    check(floats[i] == value || std::isnan(value),
          "{}: element {} of {} is {}, needs a 32-bit float; convert the file to 32 bits first", where, i,
          quote(tensor.name), value);
  }
  return floats;
}

template <class Element>
std::vector<float> convert_each(const TensorInfo& tensor) {
  std::vector<float> floats(tensor.bytes.size() / sizeof(Element));
  for (std::size_t i = 0; i < floats.size(); ++i) floats[i] = static_cast<float>(element_at<Element>(tensor.bytes, i));
  return floats;
}

}  // namespace

std::string_view StoredTensors::keep(std::string bytes) {
  const auto kept = std::make_shared<const std::string>(std::move(bytes));
  memory.push_back(kept);
  return *kept;
}

TensorInfo* StoredTensors::find(std::string_view name) {
  const auto found = std::ranges::find(tensors, name, &TensorInfo::name);
  return found == tensors.end() ? nullptr : &*found;
}

void StoredTensors::add(std::string name, std::vector<std::int64_t> shape, std::span<const float> elements) {
  const std::string_view bytes =
      keep(std::string(reinterpret_cast<const char*>(elements.data()), elements.size_bytes()));
  tensors.push_back({std::move(name), DType::kF32, std::move(shape), std::as_bytes(std::span(bytes))});
}

void add_zeros(std::string name, std::vector<std::int64_t> shape, StoredTensors& tensors) {
  const std::string_view zeros = tensors.keep(std::string(checked_byte_size(DType::kF32, shape, name), '\0'));
  tensors.tensors.push_back({std::move(name), DType::kF32, std::move(shape), std::as_bytes(std::span(zeros))});
}

bool are_equal(const TensorInfo& a, const TensorInfo& b) {
  return a.dtype == b.dtype && a.shape == b.shape && std::ranges::equal(a.bytes, b.bytes);
}

TensorLookup::TensorLookup(std::span<const TensorInfo> tensors, std::string where)
    : tensors_(tensors), where_(std::move(where)), is_used_(tensors.size(), false) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const bool is_new = index_of_.emplace(tensors[i].name, i).second;
    check(is_new, "{}: two tensors are named {}, needs a name for each", where_, quote(tensors[i].name));
  }
}

const TensorInfo* TensorLookup::find(std::string_view name) {
  const auto found = index_of_.find(name);
  if (found == index_of_.end()) return nullptr;
  is_used_[found->second] = true;
  return &tensors_[found->second];
}

const TensorInfo& TensorLookup::get(std::string_view name) {
  const TensorInfo* tensor = find(name);
  check(tensor != nullptr, "{} has no tensor {}, needs one", where_, quote(name));
  return *tensor;
}

const TensorInfo& TensorLookup::get(std::string_view name, std::span<const std::int64_t> shape) {
  const TensorInfo& tensor = get(name);
  check(std::ranges::equal(tensor.shape, shape), "{}: {} has shape [{}], needs [{}]", where_, quote(name),
        fmt::join(tensor.shape, ", "), fmt::join(shape, ", "));
  return tensor;
}

void TensorLookup::expect_all_used() const {
  std::vector<std::string> unused;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (!is_used_[i]) unused.push_back(quote(tensors_[i].name));
  }
  if (unused.empty()) return;
  const std::size_t more = unused.size() - std::min(unused.size(), kMostNamed);
  unused.resize(unused.size() - more);
  fail("{} has tensors that cannot be converted, needs none: {}{}", where_, fmt::join(unused, ", "),
       more > 0 ? fmt::format(" and {} more", more) : "");
}

std::vector<float> to_floats(const TensorInfo& tensor, std::string_view where) {
  switch (tensor.dtype) {
    case DType::kF32:
      return convert_each<float>(tensor);
    case DType::kF16:
      return convert_each<Float16>(tensor);
    case DType::kBF16:
      return convert_each<BFloat16>(tensor);
    case DType::kF64:
      return doubles_to_floats(tensor, where);
    default:
      fail("{}: {} has elements of type {}, needs F32, F16, BF16 or F64", where, quote(tensor.name),
           dtype_name(tensor.dtype));
  }
}

std::int64_t to_whole_number(const TensorInfo& tensor, std::string_view where) {
  const std::size_t count = tensor.bytes.size() / dtype_size(tensor.dtype);
  check(count == 1, "{}: {} has {} elements, needs one", where, quote(tensor.name), count);
  switch (tensor.dtype) {
    case DType::kI64:
      return element_at<std::int64_t>(tensor.bytes, 0);
    case DType::kI32:
      return element_at<std::int32_t>(tensor.bytes, 0);
    case DType::kI16:
      return element_at<std::int16_t>(tensor.bytes, 0);
    case DType::kI8:
      return element_at<std::int8_t>(tensor.bytes, 0);
    case DType::kU64:
      return narrow<std::int64_t>(element_at<std::uint64_t>(tensor.bytes, 0),
                                  fmt::format("{}: {}", where, quote(tensor.name)));
    case DType::kU32:
      return element_at<std::uint32_t>(tensor.bytes, 0);
    case DType::kU16:
      return element_at<std::uint16_t>(tensor.bytes, 0);
    case DType::kU8:
    case DType::kBool:
      return element_at<std::uint8_t>(tensor.bytes, 0);
    default:
      fail("{}: {} has an element of type {}, needs a whole number", where, quote(tensor.name),
           dtype_name(tensor.dtype));
  }
}

std::string to_text(const TensorInfo& tensor, std::string_view where) {
  const bool has_bytes = tensor.dtype == DType::kI8 || tensor.dtype == DType::kU8;
  check(has_bytes && tensor.shape.size() == 1, "{}: {} is {} of shape [{}], needs text: I8 or U8 of one dimension",
        where, quote(tensor.name), dtype_name(tensor.dtype), fmt::join(tensor.shape, ", "));
  std::string text(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  if (text.ends_with('\0')) text.pop_back();
  check(text.find('\0') == std::string::npos && !find_bad_utf8(text),
        "{}: {} has a NUL or bytes that are not UTF-8, needs text", where, quote(tensor.name));
  return text;
}

std::uint64_t checked_byte_size(DType dtype, std::span<const std::int64_t> shape, std::string_view what) {
  check(shape.size() <= detail::kMaxDimensions, "{}: the shape has {} dimensions, needs at most {}", what, shape.size(),
        detail::kMaxDimensions);
  std::uint64_t size = dtype_size(dtype);
  for (const std::int64_t dimension : shape) {
    check(dimension >= 0 && static_cast<std::uint64_t>(dimension) <= detail::kMaxDimension,
          "{}: a dimension is {}, needs 0 to {}", what, dimension, detail::kMaxDimension);
    size = checked_multiply(size, static_cast<std::uint64_t>(dimension), what);
  }
  return size;
}

void check_tensor_to_write(const TensorInfo& tensor, std::string_view function) {
  check(!tensor.name.empty() && !has_control_character(tensor.name),
        "{}: a tensor is named {}, needs UTF-8 without control characters", function, quote(tensor.name));
  const std::uint64_t needed =
      checked_byte_size(tensor.dtype, tensor.shape, fmt::format("{}: the size of {}", function, quote(tensor.name)));
  check(tensor.bytes.size() == needed, "{}: {} has {} bytes, needs {} for {} of shape [{}]", function,
        quote(tensor.name), tensor.bytes.size(), needed, dtype_name(tensor.dtype), fmt::join(tensor.shape, ", "));
}

std::string copy_strided(std::string_view source, std::size_t element_size, std::span<const std::int64_t> shape,
                         std::span<const std::int64_t> strides) {
  std::size_t count = 1;
  for (const std::int64_t dimension : shape) count *= static_cast<std::size_t>(dimension);
  std::string copy(count * element_size, '\0');
  std::vector<std::int64_t> index(shape.size(), 0);
  std::int64_t element = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(copy.data() + i * element_size, source.data() + element * static_cast<std::int64_t>(element_size),
                element_size);
    // Advances the index as an odometer does.
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      element += strides[axis];
      if (++index[axis] < shape[axis]) break;
      element -= index[axis] * strides[axis];
      index[axis] = 0;
    }
  }
  return copy;
}

}  // namespace edgewise
