// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/appended_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/files/files.h"

namespace edgewise {
namespace {

std::uint64_t size_of(const FileDescriptor& file) {
  struct stat status {};
  return ::fstat(file.number(), &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

}  // namespace

AppendedFile::AppendedFile(std::filesystem::path path, std::uint64_t size)
    : path_(std::move(path)),
      file_(open_regular_file(path_, O_CREAT | O_APPEND, "train")),
      synced_size_(std::min(size, size_of(file_))) {
  check_error(cut());
}

void AppendedFile::append(std::string_view records) {
  unsynced_ += records;
  write_records();
}

std::uint64_t AppendedFile::sync() {
  check_error(write_records());
  if (file_system().sync(file_.number()) != 0) {
    const int error = errno;
    written_ = 0;
    needs_cut_ = true;
    check_error(error);
  }
  synced_size_ += unsynced_.size();
  unsynced_.clear();
  written_ = 0;
  check_error(sync_name());
  return synced_size_;
}

int AppendedFile::write_records() {
  const int cut_error = needs_cut_ ? cut() : 0;
  if (cut_error != 0) return cut_error;
  const int error = write_all(file_, std::string_view(unsynced_).substr(written_));
  if (error == 0) {
    written_ = unsynced_.size();
  } else {
    needs_cut_ = true;
    cut();
  }
  return error;
}

/// Removes the bytes after the written records.
int AppendedFile::cut() {
  const int error = file_system().truncate(file_.number(), synced_size_ + written_) == 0 ? 0 : errno;
  needs_cut_ = error != 0;
  return error;
}

int AppendedFile::sync_name() {
  const int error = is_name_synced_ ? 0 : sync_directory(path_.parent_path());
  is_name_synced_ = error == 0;
  return error;
}

void AppendedFile::check_error(int error) const {
  check(error == 0, "train: {}: {}", path_.string(), error_text(error));
}

}  // namespace edgewise
