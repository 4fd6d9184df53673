// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

// The safetensors format: 8 bytes with the header's length, a JSON header, then the tensors' bytes, row-major and
// little-endian.

namespace edgewise {

enum class DType { kF64, kF32, kF16, kBF16, kI64, kI32, kI16, kI8, kU64, kU32, kU16, kU8, kBool };

/// As the format spells it: "F32", "BOOL".
std::string_view dtype_name(DType dtype);
std::size_t dtype_size(DType dtype);

struct TensorInfo {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;   // empty for a scalar
  std::span<const std::byte> bytes;  // not aligned for a file from elsewhere: memcpy them, do not cast
};

using SafetensorsMetadata = std::map<std::string, std::string>;

/// A safetensors file in memory. Every rule of the format is checked, so that a tensor's bytes are inside the file and
/// as many as its shape and dtype say; of a file that breaks one nothing is used. Beyond the format: no two fields with
/// one name, no control characters in names, at most 100 000 tensors, 64 dimensions and 1 MB of metadata.
class SafetensorsFile {
 public:
  /// Reads the file into memory. It is not mapped: a file that shrinks while mapped kills the process.
  static SafetensorsFile open(const std::filesystem::path& path);

  /// Reads a copy of `bytes`; `name` is what errors call it.
  static SafetensorsFile parse(std::span<const std::byte> bytes, std::string_view name);

  /// In the order of the file. They point into this object, also after it has been moved.
  std::span<const TensorInfo> tensors() const { return tensors_; }

  /// Null when there is none of that name.
  const TensorInfo* find(std::string_view name) const;

  const SafetensorsMetadata& metadata() const { return metadata_; }

 private:
  SafetensorsFile(std::unique_ptr<const std::byte[]> bytes, std::size_t size, std::string_view name);

  std::unique_ptr<const std::byte[]> bytes_;
  std::vector<TensorInfo> tensors_;
  std::unordered_map<std::string_view, std::size_t> index_of_;
  SafetensorsMetadata metadata_;
};

/// The bytes of a file with these tensors, the same whatever their order: larger dtypes first, then by name, and the
/// data begins at a multiple of 8. Throws Error for what SafetensorsFile would not read.
std::string serialize_safetensors(std::span<const TensorInfo> tensors, const SafetensorsMetadata& metadata = {});

}  // namespace edgewise
