// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/files/temporary.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <system_error>
#include <vector>

namespace edgewise {
namespace {

namespace fs = std::filesystem;

constexpr char kHidden = '.';
constexpr std::string_view kMark = ".tmp-";

fs::path temporary_path(const fs::path& target, int attempt) {
  return target.parent_path() /
         fmt::format("{}{}{}{}-{}", kHidden, target.filename().string(), kMark, ::getpid(), attempt);
}

bool has_only_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// Returns the target of a temporary name: "model" for ".model.tmp-1234-0", and "" for another name.
std::string target_of(std::string_view name) {
  const std::size_t mark = name.rfind(kMark);
  if (!name.starts_with(kHidden) || mark == std::string_view::npos || mark == 0) return {};
  const std::string_view numbers = name.substr(mark + kMark.size());
  const std::size_t dash = numbers.find('-');
  const bool is_temporary = dash != std::string_view::npos && has_only_digits(numbers.substr(0, dash)) &&
                            has_only_digits(numbers.substr(dash + 1));
  return is_temporary ? std::string(name.substr(1, mark - 1)) : std::string();
}

/// Opens without following links and without waiting for the other end of a pipe.
FileDescriptor open_to_lock(const fs::path& path) {
  return FileDescriptor(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
}

/// Takes a lock without waiting. Returns false if another process holds it. File systems without locks count as locked.
bool try_lock(const FileDescriptor& file, int operation) {
  return ::flock(file.number(), operation | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

/// Whether another process removes a path that was just created, before the path was locked.
bool is_being_removed(const FileDescriptor& lock, const fs::path& path) {
  std::error_code error;
  if (!lock.is_open()) return fs::symlink_status(path, error).type() == fs::file_type::not_found;
  return !try_lock(lock, LOCK_SH) || !is_named(lock, path);
}

}  // namespace

TemporaryPath::TemporaryPath(const fs::path& target, const std::function<int(const fs::path&)>& create) {
  for (int attempt = 0;; ++attempt) {
    path_ = temporary_path(target, attempt);
    error_ = create(path_);
    if (error_ == EEXIST) continue;
    if (error_ != 0) return;
    lock_ = open_to_lock(path_);
    if (!is_being_removed(lock_, path_)) return;
  }
}

FileDescriptor lock_against_removal(const fs::path& path) {
  FileDescriptor lock = open_to_lock(path);
  if (lock.is_open()) try_lock(lock, LOCK_SH);
  return lock;
}

fs::path unused_temporary_path(const fs::path& target) {
  int attempt = 0;
  std::error_code error;
  while (fs::exists(fs::symlink_status(temporary_path(target, attempt), error))) ++attempt;
  return temporary_path(target, attempt);
}

void for_each_leftover(const fs::path& folder, const std::string& target_name,
                       const std::function<void(const Leftover&)>& take) {
  std::vector<Leftover> candidates;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string target = target_of(entry->path().filename().string());
    const bool is_wanted = !target.empty() && (target_name.empty() || target == target_name);
    if (is_wanted) candidates.push_back({entry->path(), entry->path().parent_path() / target});
  }
  for (const Leftover& candidate : candidates) {
    const FileDescriptor lock = open_to_lock(candidate.path);
    const bool is_leftover =
        lock.is_open() && ::flock(lock.number(), LOCK_EX | LOCK_NB) == 0 && is_named(lock, candidate.path);
    if (is_leftover) take(candidate);
  }
}

void remove_leftover_files(const fs::path& target) {
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  for_each_leftover(folder, target.filename().string(), [](const Leftover& leftover) {
    std::error_code error;
    if (fs::is_regular_file(fs::symlink_status(leftover.path, error))) file_system().remove(leftover.path);
  });
}

}  // namespace edgewise
