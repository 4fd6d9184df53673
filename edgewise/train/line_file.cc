// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/line_file.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/file_system.h"
#include "edgewise/base/regular_file.h"

namespace edgewise {
namespace {

/// Returns the size of the complete lines among the first `size` bytes. Reads from the end, because a file may be
/// larger than memory.
std::uint64_t size_of_lines(const std::filesystem::path& path, std::uint64_t size) {
  constexpr std::uint64_t kChunk = 1 << 16;
  const RegularFile file(path, "train");
  for (std::uint64_t end = std::min(size, file.size()); end > 0;) {
    const std::uint64_t begin = end - std::min(end, kChunk);
    const std::size_t line_feed = file.read_range(begin, end).rfind('\n');
    if (line_feed != std::string::npos) return begin + line_feed + 1;
    end = begin;
  }
  return 0;
}

}  // namespace

LineFile::LineFile(std::filesystem::path path, std::uint64_t size)
    : path_(std::move(path)), file_(file_system().open(path_, kAppendFlags, 0666)) {
  check_error(file_.is_open() ? 0 : errno);
  synced_size_ = size_of_lines(path_, size);
  check_error(cut_partial_line());
}

void LineFile::append(std::string_view lines) {
  unsynced_ += lines;
  write_lines();
}

std::uint64_t LineFile::sync() {
  check_error(write_lines());
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

int LineFile::write_lines() {
  const int cut_error = needs_cut_ ? cut_partial_line() : 0;
  if (cut_error != 0) return cut_error;
  const int error = write_all(file_, std::string_view(unsynced_).substr(written_));
  if (error == 0) {
    written_ = unsynced_.size();
  } else {
    needs_cut_ = true;
    cut_partial_line();
  }
  return error;
}

int LineFile::cut_partial_line() {
  const int error = file_system().truncate(file_.number(), synced_size_ + written_) == 0 ? 0 : errno;
  needs_cut_ = error != 0;
  return error;
}

int LineFile::sync_name() {
  const int error = is_name_synced_ ? 0 : sync_directory(path_.parent_path());
  is_name_synced_ = error == 0;
  return error;
}

void LineFile::check_error(int error) const { check(error == 0, "train: {}: {}", path_.string(), error_text(error)); }

}  // namespace edgewise
