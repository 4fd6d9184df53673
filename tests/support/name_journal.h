// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace edgewise {

/// The changes of names in directories that were not synced since: created, renamed, swapped and removed files and
/// directories. A power cut may undo them. A removed or replaced file is moved into a folder of the journal, which must
/// be on the same file system, so that the file can be put back.
class NameJournal {
 public:
  explicit NameJournal(std::filesystem::path removed_files) : removed_files_(std::move(removed_files)) {
    std::filesystem::create_directories(removed_files_);
  }
  NameJournal(const NameJournal&) = delete;
  NameJournal& operator=(const NameJournal&) = delete;
  ~NameJournal() {
    for (const auto& [number, directory] : directories_) ::close(directory.file);
    std::error_code error;
    std::filesystem::remove_all(removed_files_, error);
  }

  /// Creates, renames or swaps by calling `change`, and records the change if `change` returns 0 or more.
  int create(const std::filesystem::path& path, const std::function<int()>& change) {
    const bool is_new = !exists(symlink_status(path));
    const int result = change();
    if (result >= 0 && is_new) {
      add(path, [name = path.filename()](const std::filesystem::path& folder) { remove_all(folder / name); });
    }
    return result;
  }
  int rename(const std::filesystem::path& from, const std::filesystem::path& to, const std::function<int()>& change) {
    const bool is_empty_directory = is_directory(to) && is_empty(to);
    const std::filesystem::path replaced = next_name();
    if (is_regular_file(to)) create_hard_link(to, replaced);
    const int result = change();
    if (result < 0) return result;
    add(to, [=, left = from.filename(), right = to.filename()](const std::filesystem::path& folder) {
      move(folder / right, folder / left);
      if (exists(replaced)) move(replaced, folder / right);
      if (is_empty_directory) create_directory(folder / right);
    });
    return result;
  }
  int exchange(const std::filesystem::path& left, const std::filesystem::path& right,
               const std::function<int()>& change) {
    const int result = change();
    if (result < 0) return result;
    add(left, [left = left.filename(), right = right.filename()](const std::filesystem::path& folder) {
      ::renameat2(AT_FDCWD, (folder / left).c_str(), AT_FDCWD, (folder / right).c_str(), RENAME_EXCHANGE);
    });
    return result;
  }

  /// Removes a file or directory.
  int remove(const std::filesystem::path& path) {
    const std::filesystem::path removed = next_name();
    if (::rename(path.c_str(), removed.c_str()) != 0) return -1;
    add(path, [=, name = path.filename()](const std::filesystem::path& folder) { move(removed, folder / name); });
    return 0;
  }

  /// Forgets the changes in an open directory, which was synced.
  void sync(int file) { directories_[number_of(file)].changes.clear(); }

  /// Undoes the changes in all directories.
  void undo() {
    for (auto& [number, directory] : directories_) {
      const std::filesystem::path folder = "/proc/self/fd/" + std::to_string(directory.file);
      for (auto change = directory.changes.rbegin(); change != directory.changes.rend(); ++change) (*change)(folder);
      directory.changes.clear();
    }
  }

 private:
  /// Undoes a change in a directory, whose path is an argument because the directory may have been moved.
  using Undo = std::function<void(const std::filesystem::path&)>;

  struct Directory {
    int file = -1;
    std::vector<Undo> changes;
  };

  static void remove_all(const std::filesystem::path& path) {
    std::error_code error;
    std::filesystem::remove_all(path, error);
  }
  static void move(const std::filesystem::path& from, const std::filesystem::path& to) {
    std::error_code error;
    std::filesystem::rename(from, to, error);
  }

  static std::uint64_t number_of(int file) {
    struct stat status {};
    return ::fstat(file, &status) == 0 ? status.st_ino : 0;
  }

  std::filesystem::path next_name() { return removed_files_ / std::to_string(next_name_++); }

  void add(const std::filesystem::path& path, Undo undo) {
    const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
    const int file = ::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    Directory& directory = directories_[number_of(file)];
    if (directory.file < 0) {
      directory.file = file;  // stays open, so that no other directory gets the number
    } else {
      ::close(file);
    }
    directory.changes.push_back(std::move(undo));
  }

  std::filesystem::path removed_files_;
  std::uint64_t next_name_ = 0;
  std::map<std::uint64_t, Directory> directories_;  // by inode number
};

}  // namespace edgewise
