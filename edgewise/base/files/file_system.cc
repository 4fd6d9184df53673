// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/files/file_system.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <limits>
#include <system_error>

namespace edgewise {
namespace {

std::atomic<FileSystem*> replacement_file_system = nullptr;

}  // namespace

int FileSystem::open(const std::filesystem::path& path, int flags, unsigned permissions) {
  return ::open(path.c_str(), flags, permissions);
}

ssize_t FileSystem::write(int file, std::string_view bytes) { return ::write(file, bytes.data(), bytes.size()); }
ssize_t FileSystem::read_at(int file, std::uint64_t offset, std::span<char> buffer) {
  return ::pread(file, buffer.data(), buffer.size(), static_cast<off_t>(offset));
}

int FileSystem::truncate(int file, std::uint64_t size) { return ::ftruncate(file, static_cast<off_t>(size)); }
int FileSystem::sync(int file) { return ::fsync(file); }
int FileSystem::close(int file) { return ::close(file); }
int FileSystem::make_directory(const std::filesystem::path& path) { return ::mkdir(path.c_str(), 0777); }

int FileSystem::rename(const std::filesystem::path& from, const std::filesystem::path& to) {
  return std::rename(from.c_str(), to.c_str());
}

int FileSystem::exchange(const std::filesystem::path& left, const std::filesystem::path& right) {
  return ::renameat2(AT_FDCWD, left.c_str(), AT_FDCWD, right.c_str(), RENAME_EXCHANGE);
}

int FileSystem::remove(const std::filesystem::path& file) { return ::unlink(file.c_str()); }

void FileSystem::remove_all(const std::filesystem::path& directory) {
  std::error_code error;
  std::filesystem::remove_all(directory, error);
}

std::uint64_t FileSystem::free_bytes(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(path, error);
  return error ? std::numeric_limits<std::uint64_t>::max() : space.available;
}

FileSystem& file_system() {
  static FileSystem real;
  FileSystem* replacement = replacement_file_system;
  return replacement == nullptr ? real : *replacement;
}

ScopedFileSystem::ScopedFileSystem(FileSystem& replacement) { replacement_file_system = &replacement; }
ScopedFileSystem::~ScopedFileSystem() { replacement_file_system = nullptr; }

}  // namespace edgewise
