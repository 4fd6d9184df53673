// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string_view>

#include "edgewise/base/file_system.h"

namespace edgewise {

/// The calls of a FaultyFileSystem that fail, and its limits.
struct Faults {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();  // number of the first call that fails, from 1
  bool are_lasting = false;                                       // all later calls fail too, as with a dead disk
  int error = EIO;
  bool can_exchange = true;
  bool writes_are_short = false;  // each write writes half of the bytes
  std::uint64_t free_bytes = std::numeric_limits<std::uint64_t>::max();
};

/// The real file system with injected faults. A failing write writes half of its bytes; a failing close still closes
/// the file. Sync does nothing, because no test simulates a power failure.
class FaultyFileSystem : public FileSystem {
 public:
  explicit FaultyFileSystem(const Faults& faults) : faults_(faults) {}

  std::int64_t num_calls() const { return num_calls_; }

  int open(const std::filesystem::path& path, int flags, unsigned permissions) override {
    return fails() ? -1 : FileSystem::open(path, flags, permissions);
  }
  ssize_t write(int file, std::string_view bytes) override {
    if (fails()) {
      const int error = errno;
      FileSystem::write(file, bytes.substr(0, bytes.size() / 2));
      errno = error;
      return -1;
    }
    const bool is_short = faults_.writes_are_short && bytes.size() > 1;
    return FileSystem::write(file, is_short ? bytes.substr(0, (bytes.size() + 1) / 2) : bytes);
  }
  int truncate(int file, std::uint64_t size) override { return fails() ? -1 : FileSystem::truncate(file, size); }
  int sync(int) override { return fails() ? -1 : 0; }
  int close(int file) override {
    FileSystem::close(file);
    return fails() ? -1 : 0;
  }
  int make_directory(const std::filesystem::path& path) override {
    return fails() ? -1 : FileSystem::make_directory(path);
  }
  int rename(const std::filesystem::path& from, const std::filesystem::path& to) override {
    return fails() ? -1 : FileSystem::rename(from, to);
  }
  int exchange(const std::filesystem::path& left, const std::filesystem::path& right) override {
    if (fails()) return -1;
    if (faults_.can_exchange) return FileSystem::exchange(left, right);
    errno = EINVAL;
    return -1;
  }
  int remove(const std::filesystem::path& file) override { return fails() ? -1 : FileSystem::remove(file); }
  void remove_all(const std::filesystem::path& directory) override {
    if (!fails()) FileSystem::remove_all(directory);
  }
  std::uint64_t free_bytes(const std::filesystem::path&) override { return faults_.free_bytes; }

 private:
  bool fails() {
    const std::int64_t call = ++num_calls_;
    errno = faults_.error;
    return faults_.are_lasting ? call >= faults_.first : call == faults_.first;
  }

  Faults faults_;
  std::atomic<std::int64_t> num_calls_ = 0;
};

}  // namespace edgewise
