// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace edgewise {

/// Bytes that come in pieces: of a file, or unpacked on the way. Memory does not grow with the file.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  /// Fills the front of `buffer`, which is not empty, and says how much; 0 only at the end. Throws Error for what
  /// cannot be read, and for a compressed file that ends early, is altered or goes on after its end.
  virtual std::size_t read(std::span<char> buffer) = 0;
};

struct SourceOptions {
  std::string path;
  std::string caller;  // the function that errors begin with
  std::size_t chunk_size = std::size_t{64} * 1024;
};

/// What errors call a file: its path, or "standard input" for "-".
std::string source_name(const std::string& path);

/// Opens a file, or standard input for "-", and unpacks gzip, xz and zstd by the file's first bytes, whatever its name;
/// several packed members one after the other are one text.
std::unique_ptr<ByteSource> open_source(const SourceOptions& options);

/// Whether a file begins as a gzip, xz or zstd one does. Reads it; not for pipes.
bool is_packed(const SourceOptions& options);

}  // namespace edgewise
