// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/files/file_system.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <limits>
#include <system_error>

#include "edgewise/base/files/temporary.h"

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

FileDescriptor::~FileDescriptor() {
  if (is_open()) file_system().close(number_);
}

int FileDescriptor::close() { return file_system().close(std::exchange(number_, -1)) == 0 ? 0 : errno; }

int write_all(const FileDescriptor& file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = file_system().write(file.number(), bytes);
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

bool is_named(const FileDescriptor& file, const std::filesystem::path& path) {
  struct stat open_status {};
  struct stat path_status {};
  return ::fstat(file.number(), &open_status) == 0 && ::lstat(path.c_str(), &path_status) == 0 &&
         open_status.st_dev == path_status.st_dev && open_status.st_ino == path_status.st_ino;
}

int create_file(const std::filesystem::path& path, unsigned permissions) {
  return file_system().open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, permissions);
}

int write_new_file(const std::filesystem::path& path, std::string_view bytes, unsigned permissions) {
  FileDescriptor file(create_file(path, permissions));
  if (!file.is_open()) return errno;
  int error = write_all(file, bytes);
  if (error == 0 && file_system().sync(file.number()) != 0) error = errno;
  if (const int close_error = file.close(); error == 0) error = close_error;
  if (error != 0) file_system().remove(path);
  return error;
}

int sync_directory(const std::filesystem::path& directory) {
  // The parent path of a bare file name is empty.
  const std::filesystem::path path = directory.empty() ? "." : directory;
  const FileDescriptor file(file_system().open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0));
  if (!file.is_open()) return errno;
  // EINVAL means that the file system does not support syncing a directory.
  return file_system().sync(file.number()) == 0 || errno == EINVAL ? 0 : errno;
}

bool is_exchange_unsupported(int error) { return error == EINVAL || error == ENOSYS || error == EOPNOTSUPP; }

int exchange(const std::filesystem::path& left, const std::filesystem::path& right) {
  FileSystem& files = file_system();
  if (files.exchange(left, right) == 0) return 0;
  if (!is_exchange_unsupported(errno)) return errno;

  const FileDescriptor lock = lock_against_removal(right);
  const std::filesystem::path aside = unused_temporary_path(right.string() + std::string(kAside));
  if (files.rename(right, aside) != 0) return errno;
  if (files.rename(left, right) != 0) {
    const int error = errno;
    files.rename(aside, right);
    return error;
  }
  files.rename(aside, left);
  return 0;
}

std::string error_text(int error) { return std::generic_category().message(error); }

}  // namespace edgewise
