// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/files/safetensors.h"

#include <algorithm>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "edgewise/base/checked.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/files/json.h"
#include "edgewise/base/files/json_scanner.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

// Constants and further limits of the format, for the reader and the writer.
constexpr std::string_view kMetadataKey = "__metadata__";
constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
constexpr std::size_t kMaxMetadataBytes = 1'000'000;

struct DTypeInfo {
  DType dtype;
  std::string_view name;
  std::size_t size;
};

constexpr DTypeInfo kDTypes[] = {
    {DType::kF64, "F64", 8},   {DType::kF32, "F32", 4}, {DType::kF16, "F16", 2}, {DType::kBF16, "BF16", 2},
    {DType::kI64, "I64", 8},   {DType::kI32, "I32", 4}, {DType::kI16, "I16", 2}, {DType::kI8, "I8", 1},
    {DType::kU64, "U64", 8},   {DType::kU32, "U32", 4}, {DType::kU16, "U16", 2}, {DType::kU8, "U8", 1},
    {DType::kBool, "BOOL", 1},
};

const DTypeInfo& dtype_info(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)]; }

/// A tensor of the header, and the range [begin, end) of the data that belongs to it.
struct TensorEntry {
  TensorInfo tensor;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

class HeaderReader {
 public:
  HeaderReader(std::string_view header, const std::string& where) : where_(where), json_(header, where, kLengthBytes) {}

  void read() {
    json_.read_object("the header",
                      [this](const std::string& key) { key == kMetadataKey ? read_metadata() : read_entry(key); });
    json_.expect_end();
  }

  std::vector<TensorEntry> entries;
  SafetensorsMetadata metadata;

 private:
  void read_metadata() {
    std::size_t bytes = 0;
    json_.read_object(kMetadataKey, [&](const std::string& key) {
      std::string value = json_.read_string(quote(key));
      bytes += key.size() + value.size();
      json_.check_value(bytes <= kMaxMetadataBytes, "{} has {} bytes, needs at most {}", kMetadataKey, bytes,
                        kMaxMetadataBytes);
      metadata.emplace(key, std::move(value));
    });
  }

  void read_entry(const std::string& name) {
    const std::string quoted = quote(name);
    json_.check_value(!has_control_character(name), "a tensor is named {}, needs a name without control characters",
                      quoted);
    json_.check_value(entries.size() < detail::kMaxTensors, "the file has more than {0} tensors, needs at most {0}",
                      detail::kMaxTensors);
    TensorEntry entry;
    entry.tensor.name = name;
    std::vector<std::string_view> missing = {"dtype", "shape", "data_offsets"};
    json_.read_object(quoted, [&](const std::string& key) {
      if (key == "dtype") {
        entry.tensor.dtype = read_dtype(quoted);
      } else if (key == "shape") {
        entry.tensor.shape = read_shape(quoted);
      } else if (key == "data_offsets") {
        std::tie(entry.begin, entry.end) = read_offsets(quoted);
      } else {
        json_.skip();
      }
      std::erase(missing, key);
    });
    if (!missing.empty()) fail("{}: {} has no {}, needs dtype, shape and data_offsets", where_, quoted, missing[0]);
    check_size(entry, quoted);
    entries.push_back(std::move(entry));
  }

  DType read_dtype(const std::string& quoted) {
    const std::string name = json_.read_string(fmt::format("the dtype of {}", quoted));
    std::string known;
    for (const auto& info : kDTypes) {
      if (info.name == name) return info.dtype;
      known += known.empty() ? "" : ", ";
      known += info.name;
    }
    json_.fail_at_value(fmt::format("the dtype of {} is {}, needs one of {}", quoted, quote(name), known));
  }

  std::vector<std::int64_t> read_shape(const std::string& quoted) {
    std::vector<std::int64_t> shape;
    json_.read_array(fmt::format("the shape of {}", quoted), [&] {
      json_.check_value(shape.size() < detail::kMaxDimensions, "{0} has more than {1} dimensions, needs at most {1}",
                        quoted, detail::kMaxDimensions);
      const std::uint64_t dimension = json_.read_whole_number(fmt::format("dimension {} of {}", shape.size(), quoted));
      json_.check_value(dimension <= detail::kMaxDimension, "dimension {} of {} is {}, needs at most {}", shape.size(),
                        quoted, dimension, detail::kMaxDimension);
      shape.push_back(static_cast<std::int64_t>(dimension));
    });
    return shape;
  }

  std::pair<std::uint64_t, std::uint64_t> read_offsets(const std::string& quoted) {
    std::uint64_t offsets[2] = {};
    std::size_t count = 0;
    json_.read_array(fmt::format("the data_offsets of {}", quoted), [&] {
      json_.check_value(count < 2, "{} has more than two data_offsets, needs two", quoted);
      offsets[count++] = json_.read_whole_number(fmt::format("a data offset of {}", quoted));
    });
    json_.check_value(count == 2, "{} has fewer than two data_offsets, needs two", quoted);
    json_.check_value(offsets[0] <= offsets[1], "{} has data_offsets {} and {}, needs the end last", quoted, offsets[0],
                      offsets[1]);
    return {offsets[0], offsets[1]};
  }

  void check_size(const TensorEntry& entry, const std::string& quoted) const {
    const std::string what = fmt::format("{}: the size of {}", where_, quoted);
    std::uint64_t needed = 1;
    for (const std::int64_t dimension : entry.tensor.shape) {
      needed = checked_multiply(needed, static_cast<std::uint64_t>(dimension), what);
    }
    needed = checked_multiply(needed, dtype_size(entry.tensor.dtype), what);
    check(entry.end - entry.begin == needed, "{}: {} has {} bytes, needs {} for {} of shape [{}]", where_, quoted,
          entry.end - entry.begin, needed, dtype_name(entry.tensor.dtype), fmt::join(entry.tensor.shape, ", "));
  }

  const std::string& where_;
  JsonScanner json_;
};

/// Checks that the tensors lie one after another and fill the data without gaps or overlaps.
void check_layout(const std::vector<TensorEntry>& entries, std::uint64_t data_size, const std::string& where) {
  std::uint64_t end = 0;
  for (const TensorEntry& entry : entries) {
    check(entry.begin == end, "{}: {} begins at byte {} of the data, needs {}, where the tensor before it ends", where,
          quote(entry.tensor.name), entry.begin, end);
    end = entry.end;
  }
  check(end == data_size, "{}: the data has {} bytes, needs {}; the file {}", where, data_size, end,
        data_size < end ? "is truncated, copy it again" : "has more than its tensors");
}

std::uint64_t read_header_size(std::span<const std::byte> bytes, const std::string& where) {
  check(bytes.size() >= kLengthBytes,
        "{} has {} bytes, needs at least {}; it is truncated, or no safetensors file; copy it again", where,
        bytes.size(), kLengthBytes);
  std::uint64_t size = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i) size |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  check(size <= kMaxHeaderBytes, "{} has a header of {} bytes, needs at most {}; it is no safetensors file", where,
        size, kMaxHeaderBytes);
  check(size <= bytes.size() - kLengthBytes,
        "{} has {} bytes after the header's length, needs {}; it is truncated, copy it again", where,
        bytes.size() - kLengthBytes, size);
  return size;
}

constexpr std::string_view kFunction = "serialize_safetensors";

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
    check(tensor.name != kMetadataKey, "{}: a tensor is named \"{}\", needs another name", kFunction, kMetadataKey);
    check(!has_control_character(tensor.name), "{}: a tensor is named {}, needs UTF-8 without control characters",
          kFunction, quote(tensor.name));
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
  check(bytes <= kMaxMetadataBytes, "{}: metadata has {} bytes, needs at most {}", kFunction, bytes, kMaxMetadataBytes);
}

/// Returns the tensors in descending order of element size, so that each tensor is aligned for its type in the file.
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
  check(header.size() <= kMaxHeaderBytes, "{}: the header has {} bytes, needs at most {}", kFunction, header.size(),
        kMaxHeaderBytes);
  return header;
}

}  // namespace

std::string_view dtype_name(DType dtype) { return dtype_info(dtype).name; }
std::size_t dtype_size(DType dtype) { return dtype_info(dtype).size; }

SafetensorsFile::SafetensorsFile(std::string bytes, const std::string& where)
    : bytes_(std::make_unique<const std::string>(std::move(bytes))) {
  const std::span<const std::byte> file = std::as_bytes(std::span(*bytes_));
  const std::uint64_t header_size = read_header_size(file, where);
  const auto header = file.subspan(kLengthBytes, header_size);
  HeaderReader reader({reinterpret_cast<const char*>(header.data()), header.size()}, where);
  reader.read();

  auto& entries = reader.entries;
  std::stable_sort(entries.begin(), entries.end(), [](const TensorEntry& left, const TensorEntry& right) {
    return std::pair(left.begin, left.end) < std::pair(right.begin, right.end);
  });
  const auto data = file.subspan(kLengthBytes + header_size);
  check_layout(entries, data.size(), where);

  tensors_.reserve(entries.size());
  for (TensorEntry& entry : entries) {
    entry.tensor.bytes = data.subspan(entry.begin, entry.end - entry.begin);
    tensors_.push_back(std::move(entry.tensor));
  }
  number_tensors();
  metadata_ = std::move(reader.metadata);
}

void SafetensorsFile::number_tensors() {
  for (std::size_t i = 0; i < tensors_.size(); ++i) index_of_.emplace(tensors_[i].name, i);
}

void SafetensorsFile::keep_tensors(const std::function<bool(std::string_view name)>& is_kept) {
  index_of_.clear();  // its keys are the names
  std::erase_if(tensors_, [&is_kept](const TensorInfo& tensor) { return !is_kept(tensor.name); });
  number_tensors();
}

SafetensorsFile SafetensorsFile::list(std::vector<TensorInfo> tensors) {
  SafetensorsFile file;
  file.tensors_ = std::move(tensors);
  file.number_tensors();
  return file;
}

SafetensorsFile SafetensorsFile::open(const std::filesystem::path& path, std::string_view caller) {
  return parse(read_file(path, caller, kAvailableMemory), path.string(), caller);
}

SafetensorsFile SafetensorsFile::parse(std::string bytes, std::string_view name, std::string_view caller) {
  return {std::move(bytes), fmt::format("{}: {}", caller, name)};
}

const TensorInfo* SafetensorsFile::find(std::string_view name) const {
  const auto found = index_of_.find(name);
  return found == index_of_.end() ? nullptr : &tensors_[found->second];
}

std::string serialize_safetensors(std::span<const TensorInfo> tensors, const SafetensorsMetadata& metadata,
                                  const StopRequest* stop) {
  check_tensors(tensors);
  check_metadata(metadata);
  const auto order = sort_by_alignment(tensors);
  const std::string header = build_header(order, metadata);

  std::size_t size = kLengthBytes + header.size();
  for (const TensorInfo* tensor : order) size += tensor->bytes.size();
  std::string file;
  file.reserve(size);
  for (std::size_t i = 0; i < kLengthBytes; ++i) file += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  file += header;
  for (const TensorInfo* tensor : order) {
    throw_if_set(stop);
    file.append(reinterpret_cast<const char*>(tensor->bytes.data()), tensor->bytes.size());
  }
  return file;
}

}  // namespace edgewise
