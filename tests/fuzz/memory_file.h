// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "edgewise/base/files/file_system.h"
#include "tests/fuzz/check.h"

namespace edgewise::fuzz {

/// A regular file in memory, with a path.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : file_(::memfd_create("fuzzed", MFD_CLOEXEC)) {
    require(file_.is_open() && write_all(file_, bytes) == 0);
  }

  std::string path() const { return "/proc/self/fd/" + std::to_string(file_.number()); }

 private:
  FileDescriptor file_;
};

}  // namespace edgewise::fuzz
