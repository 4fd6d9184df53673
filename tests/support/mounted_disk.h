// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mount.h>

#include <filesystem>
#include <string>

namespace edgewise {

/// A disk in memory at a folder. Only root may mount one.
class MountedDisk {
 public:
  static constexpr const char* kNeed = "only root may mount a disk";

  /// Mounts a disk of a size such as "100k".
  MountedDisk(const std::filesystem::path& folder, const std::string& size, unsigned long flags = 0) : folder_(folder) {
    std::filesystem::create_directories(folder);
    is_mounted_ = ::mount("none", folder.c_str(), "tmpfs", flags, ("size=" + size).c_str()) == 0;
  }
  ~MountedDisk() {
    if (is_mounted_) ::umount(folder_.c_str());
  }
  MountedDisk(const MountedDisk&) = delete;
  MountedDisk& operator=(const MountedDisk&) = delete;

  bool is_mounted() const { return is_mounted_; }

 private:
  std::filesystem::path folder_;
  bool is_mounted_ = false;
};

}  // namespace edgewise
