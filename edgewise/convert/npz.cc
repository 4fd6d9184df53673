// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/npz.h"

#include <algorithm>
#include <utility>

#include "edgewise/base/config/range.h"
#include "edgewise/base/files/byte_reader.h"
#include "edgewise/base/utf8.h"
#include "edgewise/convert/zip_archive.h"

namespace edgewise {
namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY";
constexpr std::uint32_t kMaxNpyHeader = 10'000;  // bytes, as in NumPy
constexpr std::size_t kNpyAlignment = 64;        // the first element begins at a multiple

// NumPy pads the header as if the first dimension had this many digits, so that the array can grow.
constexpr std::size_t kNpyDigits = 21;

struct NpyType {
  DType dtype;
  std::string_view code;  // after the byte order
};

constexpr NpyType kNpyTypes[] = {
    {DType::kF64, "f8"}, {DType::kF32, "f4"}, {DType::kF16, "f2"}, {DType::kI64, "i8"},
    {DType::kI32, "i4"}, {DType::kI16, "i2"}, {DType::kI8, "i1"},  {DType::kU64, "u8"},
    {DType::kU32, "u4"}, {DType::kU16, "u2"}, {DType::kU8, "u1"},  {DType::kBool, "b1"},
};

struct NpyHeader {
  DType dtype = DType::kF32;
  bool is_fortran_order = false;
  std::vector<std::int64_t> shape;
};

/// Reads the header, a Python dict with three keys: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class NpyHeaderReader {
 public:
  NpyHeaderReader(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  NpyHeader read() {
    bool has_type = false;
    bool has_order = false;
    bool has_shape = false;
    expect('{');
    while (!consume('}')) {
      const std::string_view key = read_string();
      expect(':');
      if (key == "descr" && !std::exchange(has_type, true)) {
        header_.dtype = read_type();
      } else if (key == "fortran_order" && !std::exchange(has_order, true)) {
        header_.is_fortran_order = read_truth();
      } else if (key == "shape" && !std::exchange(has_shape, true)) {
        header_.shape = read_shape();
      } else {
        fail("{}: the npy header has the key {}, needs descr, fortran_order and shape, once each", where_, quote(key));
      }
      if (!consume(',')) {
        expect('}');
        break;
      }
    }
    check(has_type && has_order && has_shape, "{}: the npy header lacks a key, needs descr, fortran_order and shape",
          where_);
    check(text_.find_first_not_of(' ', position_) == text_.size() - 1 && text_.ends_with('\n'),
          "{}: the npy header has text after its dict, needs spaces and a line feed", where_);
    return std::move(header_);
  }

 private:
  void skip_spaces() { position_ = std::min(text_.find_first_not_of(' ', position_), text_.size()); }

  bool consume(char wanted) {
    skip_spaces();
    const bool is_next = position_ < text_.size() && text_[position_] == wanted;
    if (is_next) ++position_;
    return is_next;
  }

  void expect(char wanted) {
    check(consume(wanted), "{}: the npy header has no \"{}\" at character {}, needs one", where_, wanted, position_);
  }

  std::string_view read_string() {
    const char mark = consume('"') ? '"' : '\'';
    if (mark == '\'') expect('\'');
    const std::string_view rest = text_.substr(position_);
    const std::size_t size = rest.find_first_of("'\"\\\n");
    check(size != std::string_view::npos && rest[size] == mark,
          "{}: the npy header has a string at character {} without an end, needs one without escapes", where_,
          position_);
    position_ += size + 1;
    return rest.substr(0, size);
  }

  DType read_type() {
    const std::string_view descr = read_string();
    const auto* found =
        std::ranges::find(kNpyTypes, descr.substr(std::min<std::size_t>(descr.size(), 1)), &NpyType::code);
    const bool is_known = found != std::end(kNpyTypes);
    const bool has_order = descr.starts_with('<') || (is_known && dtype_size(found->dtype) == 1 && descr[0] == '|');
    check(is_known && has_order, "{}: the elements have NumPy's type {}, needs a little-endian number such as \"<f4\"",
          where_, quote(descr));
    return found->dtype;
  }

  bool read_truth() {
    skip_spaces();
    for (const auto& [word, value] : {std::pair(std::string_view("True"), true), {"False", false}}) {
      if (!text_.substr(position_).starts_with(word)) continue;
      position_ += word.size();
      return value;
    }
    fail("{}: the npy header has another fortran_order at character {}, needs True or False", where_, position_);
  }

  std::vector<std::int64_t> read_shape() {
    std::vector<std::int64_t> shape;
    expect('(');
    while (!consume(')')) {
      shape.push_back(read_dimension());
      if (consume(',')) continue;
      check(shape.size() > 1, "{}: the npy header has the shape ({}), needs a tuple: ({},)", where_, shape[0],
            shape[0]);
      expect(')');
      break;
    }
    return shape;
  }

  std::int64_t read_dimension() {
    skip_spaces();
    const std::string_view rest = text_.substr(position_);
    const std::string_view digits = rest.substr(0, rest.find_first_not_of("0123456789"));
    std::int64_t dimension = 0;
    const bool is_read = parse_number(digits, Range(), dimension);
    check(is_read, "{}: the npy header has a dimension at character {}, needs a whole number", where_, position_);
    position_ += digits.size();
    return dimension;
  }

  std::string_view text_;
  const std::string& where_;
  std::size_t position_ = 0;
  NpyHeader header_;
};

NpyHeader read_header(ByteReader& reader, const std::string& where) {
  const std::string_view magic = reader.take(kNpyMagic.size(), "the magic string of an npy file");
  check(magic == kNpyMagic, "{} begins with {}, needs an npy file of NumPy", where, quote(magic));
  const auto major = reader.take_number<std::uint8_t>("the version");
  const auto minor = reader.take_number<std::uint8_t>("the version");
  check(major >= 1 && major <= 3 && minor == 0, "{} has the npy version {}.{}, needs 1.0, 2.0 or 3.0", where, major,
        minor);
  const std::string_view what = "the size of the npy header";
  const std::uint32_t size =
      major == 1 ? reader.take_number<std::uint16_t>(what) : reader.take_number<std::uint32_t>(what);
  check(size > 0 && size <= kMaxNpyHeader, "{} has an npy header of {} bytes, needs 1 to {}", where, size,
        kMaxNpyHeader);
  return NpyHeaderReader(reader.take(size, "the npy header"), where).read();
}

/// Returns how far apart elements are in a Fortran-order array, in elements.
std::vector<std::int64_t> fortran_strides(std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> strides;
  std::int64_t stride = 1;
  for (const std::int64_t dimension : shape) {
    strides.push_back(stride);
    stride *= dimension;
  }
  return strides;
}

std::string shape_text(std::span<const std::int64_t> shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

constexpr std::string_view kNpyEnding = ".npy";

StoredTensors read_arrays(const ZipArchive& archive, const std::string& where) {
  StoredTensors tensors;
  for (const ZipEntry& entry : archive.entries()) {
    const std::string_view name = entry.name;
    check(name.ends_with(kNpyEnding) && name.size() > kNpyEnding.size(),
          "{} has an entry {}, needs only files that end with {}", where, quote(name), kNpyEnding);
    parse_npy(archive.read(entry), name.substr(0, name.size() - kNpyEnding.size()),
              fmt::format("{}: entry {}", where, quote(name)), tensors);
  }
  return tensors;
}

}  // namespace

void parse_npy(std::string file, std::string_view name, const std::string& where, StoredTensors& tensors) {
  const std::string_view bytes = tensors.keep(std::move(file));
  ByteReader reader(bytes, where);
  NpyHeader header = read_header(reader, where);
  const std::uint64_t needed =
      checked_byte_size(header.dtype, header.shape, fmt::format("{}: the array's size", where));
  check(reader.num_left() == needed, "{} has {} bytes of elements, needs {} for {} of shape [{}]", where,
        reader.num_left(), needed, dtype_name(header.dtype), fmt::join(header.shape, ", "));
  std::string_view elements = reader.take(needed, "the array");
  if (header.is_fortran_order && header.shape.size() > 1 && needed > 0) {
    elements =
        tensors.keep(copy_strided(elements, dtype_size(header.dtype), header.shape, fortran_strides(header.shape)));
  }
  tensors.tensors.push_back(
      {std::string(name), header.dtype, std::move(header.shape), std::as_bytes(std::span(elements))});
}

std::string serialize_npy(const TensorInfo& tensor) {
  constexpr std::string_view kFunction = "serialize_npy";
  check_tensor_to_write(tensor, kFunction);
  const auto* type = std::ranges::find(kNpyTypes, tensor.dtype, &NpyType::dtype);
  check(type != std::end(kNpyTypes), "{}: {} has elements of type {}, needs a type of NumPy; convert the tensor to F32",
        kFunction, quote(tensor.name), dtype_name(tensor.dtype));
  std::string header = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': {}, }}",
                                   dtype_size(tensor.dtype) == 1 ? '|' : '<', type->code, shape_text(tensor.shape));
  if (!tensor.shape.empty()) header.append(kNpyDigits - fmt::formatted_size("{}", tensor.shape[0]), ' ');
  const std::size_t unpadded = kNpyMagic.size() + 4 + header.size() + 1;
  header.append(kNpyAlignment - unpadded % kNpyAlignment, ' ');
  header += '\n';

  std::string file(kNpyMagic);
  file += {'\1', '\0', static_cast<char>(header.size() & 0xFF), static_cast<char>(header.size() >> 8)};
  file += header;
  file.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  return file;
}

StoredTensors read_npz(const std::filesystem::path& path, std::string_view caller) {
  const std::string where = fmt::format("{}: {}", caller, path.string());
  return read_arrays(ZipArchive::open(RegularFile(path, caller), where), where);
}

StoredTensors parse_npz(std::string bytes, std::string_view name) {
  const std::string where = fmt::format("read_npz: {}", name);
  return read_arrays(ZipArchive::parse(std::move(bytes), where), where);
}

std::string serialize_npz(std::span<const TensorInfo> tensors) {
  std::vector<std::string> files;
  std::vector<ZipContent> entries;
  files.reserve(tensors.size());
  for (const TensorInfo& tensor : tensors) {
    files.push_back(serialize_npy(tensor));
    entries.push_back({tensor.name + std::string(kNpyEnding), files.back()});
  }
  return serialize_zip(entries, "serialize_npz");
}

}  // namespace edgewise
