// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "edgewise/base/descriptor.h"
#include "edgewise/base/error.h"

namespace edgewise {
namespace {

// What a new file may do, before the umask.
constexpr unsigned kReadAndWrite = 0666;

// Where the bytes go, symbolic links followed, and the permissions to give them.
struct Destination {
  std::filesystem::path path;
  unsigned permissions;
};

Destination find_destination(const std::filesystem::path& path, std::string_view caller) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::weakly_canonical(path, error);
  check(!error, "{}: {}: {}; nothing was replaced", caller, path.string(), error.message());
  struct stat status {};
  if (::stat(real.c_str(), &status) != 0) return {real, kReadAndWrite};
  check(S_ISREG(status.st_mode), "{}: {} is not a regular file, needs one to replace", caller, path.string());
  return {real, status.st_mode & kReadAndWrite};
}

// The file and its name; names that other writers of the same file use are passed over.
std::filesystem::path write_beside(const Destination& destination, std::string_view bytes, int& error) {
  for (int attempt = 0;; ++attempt) {
    const auto path = fmt::format("{}.tmp-{}-{}", destination.path.string(), ::getpid(), attempt);
    error = write_new_file(path, bytes, destination.permissions);
    if (error != EEXIST) return path;
  }
}

}  // namespace

std::string read_file(const std::filesystem::path& path, std::string_view caller) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  check(file.is_open(), "{}: {}: {}", caller, path.string(), error_text(errno));
  struct stat status {};
  ::fstat(file.number(), &status);
  // One more than the file has, so that its end is found without growing.
  std::string bytes(static_cast<std::size_t>(std::max<off_t>(status.st_size, 0)) + 1, '\0');
  std::size_t size = 0;
  while (true) {
    const ssize_t count = ::read(file.number(), bytes.data() + size, bytes.size() - size);
    if (count == 0) break;
    check(count > 0 || errno == EINTR, "{}: {}: {}", caller, path.string(), error_text(errno));
    if (count > 0) size += static_cast<std::size_t>(count);
    if (size == bytes.size()) bytes.resize(2 * size + 4096);
  }
  bytes.resize(size);
  return bytes;
}

void write_file_atomically(const std::filesystem::path& path, std::string_view bytes, std::string_view caller) {
  const Destination destination = find_destination(path, caller);
  int error = 0;
  const std::filesystem::path temporary = write_beside(destination, bytes, error);
  if (error == 0 && std::rename(temporary.c_str(), destination.path.c_str()) != 0) {
    error = errno;
    ::unlink(temporary.c_str());
  }
  check(error == 0, "{}: {}: {}; nothing was replaced", caller, path.string(), error_text(error));
  error = sync_directory(destination.path.parent_path());
  check(error == 0, "{}: {}: {}; it was replaced, but a power cut may undo that", caller, path.string(),
        error_text(error));
}

}  // namespace edgewise
