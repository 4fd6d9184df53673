// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "edgewise/base/descriptor.h"
#include "edgewise/text/byte_source.h"

namespace edgewise {

/// A file that can be read from any place, by several threads at once. A packed one (byte_source.h), standard input and
/// pipes cannot, so they are first copied, unpacked, to a file in TMPDIR or else /tmp that goes with this object.
class SeekableFile {
 public:
  /// Throws Error for what cannot be read, and for a copy that has no room; errors begin with `caller`.
  SeekableFile(const std::string& path, const std::string& caller);

  /// The bytes from an offset to the end. The file must outlive them.
  std::unique_ptr<ByteSource> from(std::int64_t offset) const;

  /// As errors and reports name it.
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  std::string caller_;
  Descriptor file_;
};

}  // namespace edgewise
