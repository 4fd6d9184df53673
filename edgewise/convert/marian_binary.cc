// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/marian_binary.h"

#include <fmt/ranges.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <unordered_set>
#include <utility>

#include "edgewise/base/checked.h"
#include "edgewise/base/error.h"
#include "edgewise/base/files/byte_reader.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/utf8.h"
#include "edgewise/convert/packed_file.h"

namespace edgewise {
namespace {

constexpr std::uint64_t kMarianVersion = 1;
constexpr std::uint64_t kMarianAlignment = 256;  // the elements of an array begin at a multiple

// The numbers of types: a class of numbers in the second byte, and the size of an element in the first.
constexpr std::uint64_t kMarianInt8 = 0x0101;
constexpr std::uint64_t kMarianFloat16 = 0x0402;
constexpr std::uint64_t kMarianFloat32 = 0x0404;
constexpr std::uint64_t kMarianIntgemm8 = 0x4101;

/// Returns whether a matrix of intgemm8 has the order of its shape.
bool is_stored_table(std::string_view name) { return name.find("Wemb") != std::string_view::npos; }

std::int64_t count_of_shape(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t dimension : shape) count *= dimension;
  return count;
}

template <typename Number>
std::string bytes_of_array(std::span<const Number> numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size_bytes()};
}

class MarianBinaryReader {
 public:
  MarianBinaryReader(std::string_view bytes, const std::string& where) : where_(where), reader_(bytes, where) {}

  void read(StoredTensors& stored) {
    const std::uint64_t version = take_number("the version");
    check(version == kMarianVersion, "{} has version {}, needs {}", where_, version, kMarianVersion);
    const std::uint64_t count = take_number("the number of arrays");
    check(count <= detail::kMaxTensors, "{} has {} arrays, needs at most {}", where_, count, detail::kMaxTensors);
    take_headers(count);
    reader_.take(take_number("the size of the gap"), "the gap");
    for (const Array& array : arrays_) take_elements(array, stored);
    check(reader_.num_left() == 0, "{} has {} bytes after the arrays, needs none", where_, reader_.num_left());
  }

 private:
  struct Array {
    std::uint64_t name_size;
    std::uint64_t type;
    std::uint64_t rank;
    std::uint64_t size;
    std::string name = {};
    std::vector<std::int64_t> shape = {};
  };

  std::uint64_t take_number(std::string_view what) { return reader_.take_number<std::uint64_t>(what); }

  void take_headers(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t name_size = take_number("the header of an array");
      const std::uint64_t type = take_number("the header of an array");
      const std::uint64_t rank = take_number("the header of an array");
      arrays_.push_back({name_size, type, rank, take_number("the header of an array")});
    }
    std::unordered_set<std::string_view> names;
    for (Array& array : arrays_) {
      std::string_view name = reader_.take(array.name_size, "the name of an array");
      if (name.ends_with('\0')) name.remove_suffix(1);
      if (name.empty() || name.size() == array.name_size || has_control_character(name)) {
        reader_.fail_here(
            "the name of an array is {}, needs UTF-8 without control characters and with a NUL at its end",
            quote(name));
      }
      check(names.insert(name).second, "{} has two arrays {}, needs a name for each", where_, quote(name));
      array.name = name;
    }
    for (Array& array : arrays_) {
      check(array.rank <= detail::kMaxDimensions, "{}: {} has {} dimensions, needs at most {}", where_,
            quote(array.name), array.rank, detail::kMaxDimensions);
      for (std::uint64_t axis = 0; axis < array.rank; ++axis) {
        const auto dimension = std::bit_cast<std::int32_t>(reader_.take_number<std::uint32_t>("a dimension"));
        array.shape.push_back(dimension);
      }
    }
  }

  DType type_of(const Array& array) const {
    switch (array.type) {
      case kMarianInt8:
      case kMarianIntgemm8:
        return DType::kI8;
      case kMarianFloat16:
        return DType::kF16;
      case kMarianFloat32:
        return DType::kF32;
      default:
        fail("{}: {} has elements of type {:#06x}, needs float32, float16, int8 or intgemm8{}", where_,
             quote(array.name), array.type,
             array.type == 0x4102 ? "; convert the original model with --gemm-type intgemm8" : "");
    }
  }

  void take_elements(const Array& array, StoredTensors& stored) {
    const DType dtype = type_of(array);
    const std::string quoted = quote(array.name);
    const std::string size_of_array = fmt::format("{}: the size of {}", where_, quoted);
    const std::uint64_t needed = checked_byte_size(dtype, array.shape, size_of_array);
    const std::uint64_t with_multiplier =
        checked_add(needed, array.type == kMarianIntgemm8 ? sizeof(float) : 0, size_of_array);
    check(array.size >= with_multiplier, "{}: {} has {} bytes, needs {} for {} of shape [{}]", where_, quoted,
          array.size, with_multiplier, dtype_name(dtype), fmt::join(array.shape, ", "));
    const std::string_view bytes = reader_.take(array.size, quoted);
    if (array.type == kMarianIntgemm8) return add_integers(array, bytes, stored);
    stored.tensors.push_back({array.name, dtype, array.shape, std::as_bytes(std::span(bytes.substr(0, needed)))});
  }

  void add_integers(const Array& array, std::string_view bytes, StoredTensors& stored) {
    const std::int64_t count = count_of_shape(array.shape);
    check(count > 0, "{}: {} has no elements, needs some", where_, quote(array.name));
    float multiplier = 0;
    std::memcpy(&multiplier, bytes.data() + count, sizeof(multiplier));
    const float scale = 1 / multiplier;
    check(std::isfinite(multiplier) && multiplier > 0 && std::isfinite(scale),
          "{}: {} has the multiplier {}, needs a positive number with a finite inverse", where_, quote(array.name),
          multiplier);
    if (count == 1) {
      const std::array number = {static_cast<float>(static_cast<std::int8_t>(bytes[0])) / multiplier};
      return stored.add(array.name, array.shape, number);
    }
    check(array.shape.size() == 2, "{}: {} has {} dimensions, needs 2 for intgemm8", where_, quote(array.name),
          array.shape.size());
    const std::int64_t rows = array.shape[0];
    const std::int64_t columns = array.shape[1];
    TensorInfo matrix = {array.name, DType::kI8, array.shape, std::as_bytes(std::span(bytes.substr(0, count)))};
    const bool is_table = is_stored_table(array.name);
    if (!is_table) {
      matrix.bytes =
          std::as_bytes(std::span(stored.keep(copy_strided(bytes, 1, array.shape, std::array{std::int64_t{1}, rows}))));
    }
    stored.tensors.push_back(std::move(matrix));
    const std::vector<float> scales(static_cast<std::size_t>(is_table ? rows : columns), scale);
    stored.add(array.name + ".scale", {std::ssize(scales)}, scales);
  }

  const std::string& where_;
  ByteReader reader_;
  std::vector<Array> arrays_;
};

/// An array as the file stores it.
struct WrittenArray {
  std::string_view name;
  std::uint64_t type;
  const std::vector<std::int64_t>* shape;
  std::string elements;
};

std::uint64_t marian_type(const TensorInfo& tensor) {
  switch (tensor.dtype) {
    case DType::kF32:
      return kMarianFloat32;
    case DType::kF16:
      return kMarianFloat16;
    case DType::kI8:
      return kMarianInt8;
    default:
      fail("serialize_marian_binary: {} has elements of type {}, needs F32, F16 or I8", quote(tensor.name),
           dtype_name(tensor.dtype));
  }
}

/// Returns the elements of an array of intgemm8, and its multiplier.
std::string intgemm_elements(const IntgemmArray& array) {
  std::string elements = bytes_of_array(std::span<const std::int8_t>(array.values));
  if (array.shape.size() == 2 && !is_stored_table(array.name)) {
    elements = copy_strided(elements, 1, std::array{array.shape[1], array.shape[0]},
                            std::array{std::int64_t{1}, array.shape[1]});
  }
  return elements + bytes_of_array(std::span(&array.multiplier, 1));
}

}  // namespace

StoredTensors parse_marian_binary(std::string bytes, const std::string& where) {
  StoredTensors stored;
  const std::string_view kept = stored.keep(std::move(bytes));
  MarianBinaryReader(kept, where).read(stored);
  return stored;
}

StoredTensors read_marian_binary(const std::filesystem::path& path, std::string_view caller) {
  return parse_marian_binary(read_packed_file(path, caller, kMaxFileBytes),
                             fmt::format("{}: {}", caller, path.string()));
}

std::string serialize_marian_binary(std::span<const TensorInfo> tensors, std::span<const IntgemmArray> arrays) {
  std::vector<WrittenArray> all;
  for (const TensorInfo& tensor : tensors) {
    check_tensor_to_write(tensor, "serialize_marian_binary");
    all.push_back({tensor.name,
                   marian_type(tensor),
                   &tensor.shape,
                   {reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()}});
  }
  for (const IntgemmArray& array : arrays) {
    all.push_back({array.name, kMarianIntgemm8, &array.shape, intgemm_elements(array)});
  }
  std::string file;
  append_number(file, kMarianVersion);
  append_number(file, std::uint64_t{all.size()});
  for (WrittenArray& array : all) {
    const std::size_t size = array.elements.size();
    array.elements.resize((size + kMarianAlignment - 1) / kMarianAlignment * kMarianAlignment);
    for (const std::uint64_t number : {std::uint64_t{array.name.size() + 1}, array.type,
                                       std::uint64_t{array.shape->size()}, std::uint64_t{array.elements.size()}}) {
      append_number(file, number);
    }
  }
  for (const WrittenArray& array : all) file.append(array.name).push_back('\0');
  for (const WrittenArray& array : all) {
    for (const std::int64_t dimension : *array.shape) append_number(file, static_cast<std::uint32_t>(dimension));
  }
  const std::uint64_t begin = (file.size() + 8) / kMarianAlignment * kMarianAlignment + kMarianAlignment;
  append_number(file, begin - file.size() - 8);
  file.resize(begin);
  for (const WrittenArray& array : all) file += array.elements;
  return file;
}

}  // namespace edgewise
