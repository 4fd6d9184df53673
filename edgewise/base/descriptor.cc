// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/descriptor.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

namespace edgewise {

Descriptor::~Descriptor() {
  if (is_open()) ::close(number_);
}

int Descriptor::close() { return ::close(std::exchange(number_, -1)) == 0 ? 0 : errno; }

int write_all(const Descriptor& file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.number(), bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return errno;
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

int create_file(const std::filesystem::path& path, unsigned permissions) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, permissions);
}

int write_new_file(const std::filesystem::path& path, std::string_view bytes, unsigned permissions) {
  Descriptor file(create_file(path, permissions));
  if (!file.is_open()) return errno;
  int error = write_all(file, bytes);
  if (error == 0 && ::fsync(file.number()) != 0) error = errno;
  if (const int close_error = file.close(); error == 0) error = close_error;
  if (error != 0) ::unlink(path.c_str());
  return error;
}

int sync_directory(const std::filesystem::path& directory) {
  // The folder of a bare file name has an empty name.
  const char* name = directory.empty() ? "." : directory.c_str();
  const Descriptor file(::open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!file.is_open()) return errno;
  // EINVAL: a file system that cannot sync directories, and need not.
  return ::fsync(file.number()) == 0 || errno == EINVAL ? 0 : errno;
}

int exchange(const std::filesystem::path& left, const std::filesystem::path& right) {
  if (::renameat2(AT_FDCWD, left.c_str(), AT_FDCWD, right.c_str(), RENAME_EXCHANGE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP) return errno;

  const std::string aside = left.string() + ".aside";
  if (std::rename(right.c_str(), aside.c_str()) != 0) return errno;
  if (std::rename(left.c_str(), right.c_str()) != 0) {
    const int error = errno;
    std::rename(aside.c_str(), right.c_str());
    return error;
  }
  return std::rename(aside.c_str(), left.c_str()) == 0 ? 0 : errno;
}

std::string error_text(int error) { return std::generic_category().message(error); }

}  // namespace edgewise
