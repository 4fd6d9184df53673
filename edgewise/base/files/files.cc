// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/files/files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "edgewise/base/error.h"
#include "edgewise/base/files/file_descriptor.h"
#include "edgewise/base/files/file_system.h"
#include "edgewise/base/files/regular_file.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

bool leads_nowhere(const fs::path& path) {
  std::error_code error;
  return fs::is_symlink(fs::symlink_status(path, error)) && fs::status(path, error).type() == fs::file_type::not_found;
}

// Permissions of a new file, before the umask.
constexpr unsigned kReadAndWrite = 0666;

// The file to replace, with symbolic links resolved, and its permissions.
struct Destination {
  std::filesystem::path path;
  unsigned permissions;
};

Destination find_destination(const std::filesystem::path& path, std::string_view caller) {
  std::error_code error;
  const std::filesystem::path real = real_path(path, error);
  check(!error, "{}: {}: {}; nothing was replaced", caller, path.string(), error.message());
  struct stat status {};
  if (::stat(real.c_str(), &status) != 0) return {real, kReadAndWrite};
  check(S_ISREG(status.st_mode), "{}: {} is not a regular file, needs one to replace", caller, path.string());
  return {real, status.st_mode & kReadAndWrite};
}

}  // namespace

fs::path real_path(const fs::path& path, std::error_code& error) {
  fs::path real = fs::absolute(path, error);
  // weakly_canonical() does not follow a link that leads nowhere.
  while (!error && leads_nowhere(real)) real = real.parent_path() / fs::read_symlink(real, error);
  return error ? fs::path() : fs::weakly_canonical(real, error);
}

void require_replaceable(const std::filesystem::path& path, std::string_view caller) { find_destination(path, caller); }

std::string read_file(const std::filesystem::path& path, std::string_view caller, std::uint64_t max_bytes) {
  return RegularFile(path, caller).read(max_bytes);
}

bool has_entry(const std::filesystem::path& path, std::string_view caller) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0) return true;
  const int error = errno;
  check(error == ENOENT || error == ENOTDIR, "{}: {}: {}", caller, path.string(), error_text(error));
  return false;
}

bool path_exists(const std::filesystem::path& path, std::string_view caller) {
  std::error_code error;
  const bool exists = std::filesystem::exists(path, error);
  check(!error, "{}: {}: {}", caller, path.string(), error.message());
  return exists;
}

AtomicFile::AtomicFile(const std::filesystem::path& path, std::string_view caller) : path_(path), caller_(caller) {
  const Destination destination = find_destination(path, caller);
  destination_ = destination.path;
  remove_leftover_files(destination_);
  temporary_.emplace(destination_, [&](const std::filesystem::path& temporary) {
    registration_.emplace(temporary);
    file_ = std::make_unique<FileDescriptor>(create_file(temporary, destination.permissions));
    return file_->is_open() ? 0 : errno;
  });
  if (temporary_->error() != 0) file_.reset();
  check_error(temporary_->error());
}

AtomicFile::~AtomicFile() {
  if (file_) file_system().remove(temporary_->path());
}

void AtomicFile::write(std::string_view bytes) { check_error(write_all(*file_, bytes)); }

void AtomicFile::commit() {
  int error = file_system().sync(file_->number()) == 0 ? 0 : errno;
  if (const int close_error = file_->close(); error == 0) error = close_error;
  if (error == 0 && file_system().rename(temporary_->path(), destination_) != 0) error = errno;
  check_error(error);
  registration_.reset();
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
