// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "edgewise/base/file_descriptor.h"
#include "edgewise/text/byte_source.h"

namespace edgewise {

/// A file that several threads can read at any offset. Compressed files, standard input and pipes are first copied,
/// decompressed, to an unnamed file in TMPDIR (by default /tmp), which exists as long as this object.
class SeekableFile {
 public:
  /// Throws Error if the file cannot be read or the disk is full; messages begin with `caller`.
  SeekableFile(const std::string& path, const std::string& caller);

  /// Returns a source of the bytes from `offset` to the end. The file must outlive the source.
  std::unique_ptr<ByteSource> from(std::int64_t offset) const;

  /// Returns the name of the file for messages.
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  std::string caller_;
  FileDescriptor file_;
};

}  // namespace edgewise
