// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/files/file_descriptor.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "edgewise/base/files/file_system.h"
#include "edgewise/base/files/temporary.h"

namespace edgewise {

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
