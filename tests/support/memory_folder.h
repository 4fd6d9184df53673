// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <system_error>

namespace edgewise {

/// Returns the parent for folders of tests that write a thousand files: /dev/shm, which is memory, if it can be written
/// and has half a gigabyte left, and otherwise the folder of temporary files.
inline std::filesystem::path memory_folder() {
  constexpr const char* kMemory = "/dev/shm";
  constexpr std::uintmax_t kNeededBytes = 1 << 29;
  std::error_code none;
  const std::filesystem::space_info space = std::filesystem::space(kMemory, none);
  const bool has_space = !none && space.available >= kNeededBytes;
  return has_space && ::access(kMemory, W_OK) == 0 ? kMemory : std::filesystem::temp_directory_path();
}

}  // namespace edgewise
