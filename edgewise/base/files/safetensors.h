// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "edgewise/base/stop_request.h"

// The safetensors format (https://github.com/huggingface/safetensors): 8 bytes with the header's length, a JSON header,
// then the tensors' bytes, row-major and little-endian. Reading keeps the bytes of the file in memory once and copies
// no tensor; writing makes the whole file in memory. Errors begin with the caller and the file. Several threads may use
// one file that was read.

namespace edgewise {

namespace detail {
// Limits that other formats of tensors share.
inline constexpr std::size_t kMaxTensors = 100'000;
inline constexpr std::size_t kMaxDimensions = 64;
inline constexpr std::uint64_t kMaxDimension = std::uint64_t{1} << 53;
}  // namespace detail

enum class DType { kF64, kF32, kF16, kBF16, kI64, kI32, kI16, kI8, kU64, kU32, kU16, kU8, kBool };

/// Returns the name of the type in the format: "F32", "BOOL".
std::string_view dtype_name(DType dtype);
std::size_t dtype_size(DType dtype);

struct TensorInfo {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;   // empty for a scalar
  std::span<const std::byte> bytes;  // may be unaligned: use memcpy, do not cast
};

using SafetensorsMetadata = std::map<std::string, std::string>;

/// A safetensors file in memory. The reader checks every rule of the format, so that a tensor's bytes lie inside the
/// file and fit its shape and dtype; it throws Error for a file that breaks a rule. Further rules: no duplicate fields,
/// no control characters in names, at most 100 000 tensors, 64 dimensions and 1 MB of metadata.
class SafetensorsFile {
 public:
  /// Reads the file into memory. The file is not mapped, since a mapped file that shrinks kills the process.
  static SafetensorsFile open(const std::filesystem::path& path, std::string_view caller = kReader);

  /// Parses the bytes of a file. Errors call the file `name`.
  static SafetensorsFile parse(std::string bytes, std::string_view name, std::string_view caller = kReader);

  /// Lists tensors in memory as a file would list them, for readers of files: bytes() is empty, and the tensors' bytes
  /// stay the caller's, who keeps them. The names differ.
  static SafetensorsFile list(std::vector<TensorInfo> tensors);

  /// Returns the tensors in the order of the file. Their bytes are memory of this object, but for list(); moving the
  /// object keeps them.
  std::span<const TensorInfo> tensors() const { return tensors_; }

  /// Removes the tensors for whose names `is_kept` is false from the list; their bytes stay in memory.
  void keep_tensors(const std::function<bool(std::string_view name)>& is_kept);

  /// Returns null if no tensor has the name.
  const TensorInfo* find(std::string_view name) const;

  const SafetensorsMetadata& metadata() const { return metadata_; }

  /// Returns the bytes of the file.
  std::string_view bytes() const { return *bytes_; }

 private:
  static constexpr std::string_view kReader = "read_safetensors";

  SafetensorsFile() = default;
  SafetensorsFile(std::string bytes, const std::string& where);
  void number_tensors();

  std::unique_ptr<const std::string> bytes_ = std::make_unique<const std::string>();
  std::vector<TensorInfo> tensors_;
  std::unordered_map<std::string_view, std::size_t> index_of_;
  SafetensorsMetadata metadata_;
};

/// Returns the bytes of a file with these tensors, sorted by dtype size (largest first) and name. The data begins at a
/// multiple of 8. Throws Error for input that SafetensorsFile could not read, and StopException if `stop` is set before
/// a tensor is copied.
std::string serialize_safetensors(std::span<const TensorInfo> tensors, const SafetensorsMetadata& metadata = {},
                                  const StopRequest* stop = nullptr);

}  // namespace edgewise
