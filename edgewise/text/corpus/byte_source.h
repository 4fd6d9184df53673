// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "edgewise/base/stop_request.h"

namespace edgewise {

/// Reads the bytes of a file in chunks and decompresses them if necessary. Memory does not grow with the file.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  /// Writes to the front of `buffer`, which is not empty, and returns the number of bytes; 0 only at the end. Throws
  /// Error if the file cannot be read, or if a compressed file is truncated, corrupt, followed by other bytes, or
  /// expands more than a thousandfold.
  virtual std::size_t read(std::span<char> buffer) = 0;
};

struct SourceOptions {
  std::string path;
  std::string caller;  // error messages begin with this function name
  std::size_t chunk_size = std::size_t{64} * 1024;
  const StopRequest* stop = nullptr;  // ends reading, also while it waits for a pipe or terminal, by StopException
};

/// Returns the name of a file for messages: its path, or "standard input" for "-".
std::string source_name(const std::string& path);

/// Opens a file, or standard input for "-". Detects gzip, xz and zstd by the first bytes, not by the name; concatenated
/// compressed files are one text. A pipe or terminal may be endless, but a device that is endless, such as /dev/zero,
/// is an error.
std::unique_ptr<ByteSource> open_source(const SourceOptions& options);

/// Returns whether a file begins like gzip, xz or zstd. Reads its first bytes, so do not use it for pipes.
bool is_compressed(const SourceOptions& options);

}  // namespace edgewise
