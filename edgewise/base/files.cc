// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "edgewise/base/error.h"
#include "edgewise/base/file_descriptor.h"
#include "edgewise/base/file_system.h"

namespace edgewise {
namespace {

// Permissions of a new file, before the umask.
constexpr unsigned kReadAndWrite = 0666;

// The file to replace, with symbolic links resolved, and its permissions.
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

}  // namespace

std::string read_file(const std::filesystem::path& path, std::string_view caller) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  check(file.is_open(), "{}: {}: {}", caller, path.string(), error_text(errno));
  struct stat status {};
  ::fstat(file.number(), &status);
  // One byte more than the file has, so that the last read() returns 0 without growing the buffer.
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

AtomicFile::AtomicFile(const std::filesystem::path& path, std::string_view caller) : path_(path), caller_(caller) {
  const Destination destination = find_destination(path, caller);
  destination_ = destination.path;
  int error = EEXIST;
  // Skips temporary names that other writers of this file use.
  for (int attempt = 0; error == EEXIST; ++attempt) {
    temporary_ = fmt::format("{}.tmp-{}-{}", destination_.string(), ::getpid(), attempt);
    file_ = std::make_unique<FileDescriptor>(create_file(temporary_, destination.permissions));
    error = file_->is_open() ? 0 : errno;
  }
  if (error != 0) file_.reset();
  check_error(error);
}

AtomicFile::~AtomicFile() {
  if (file_) file_system().remove(temporary_);
}

void AtomicFile::write(std::string_view bytes) { check_error(write_all(*file_, bytes)); }

void AtomicFile::commit() {
  int error = file_system().sync(file_->number()) == 0 ? 0 : errno;
  if (const int close_error = file_->close(); error == 0) error = close_error;
  if (error == 0 && file_system().rename(temporary_, destination_) != 0) error = errno;
  check_error(error);
  file_.reset();
  error = sync_directory(destination_.parent_path());
  check(error == 0, "{}: {}: {}; it was replaced, but a power cut may undo that", caller_, path_.string(),
        error_text(error));
}

void AtomicFile::check_error(int error) const {
  check(error == 0, "{}: {}: {}; nothing was replaced", caller_, path_.string(), error_text(error));
}

void write_file_atomically(const std::filesystem::path& path, std::string_view bytes, std::string_view caller) {
  AtomicFile file(path, caller);
  file.write(bytes);
  file.commit();
}

}  // namespace edgewise
