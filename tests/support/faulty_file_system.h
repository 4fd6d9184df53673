// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "edgewise/base/files/file_system.h"
#include "tests/support/name_journal.h"

namespace edgewise {

/// The threads whose calls a FaultyFileSystem numbers. The calls of each thread come in a fixed order, but two threads
/// take turns at random.
enum class CallsOf { kAllThreads, kThisThread, kOtherThreads };

/// The calls of a FaultyFileSystem that fail, and its limits.
struct Faults {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();  // number of the first call that fails, from 1
  CallsOf calls_of = CallsOf::kAllThreads;
  bool are_lasting = false;  // all later calls fail too, as with a dead disk or after a crash
  int error = EIO;
  bool is_short_write = false;  // only writes are numbered; instead of failing, a write writes half of its bytes
  bool can_exchange = true;
  bool writes_are_short = false;  // each write writes half of the bytes
  std::uint64_t free_bytes = std::numeric_limits<std::uint64_t>::max();
  std::filesystem::path removed_files = {};  // folder of a NameJournal; empty: cut_power() loses no names
};

/// The real file system with injected faults. A failing write writes half of its bytes; a failing close still closes
/// the file; a failing sync loses the bytes that it should have synced, as Linux may do.
class FaultyFileSystem : public FileSystem {
 public:
  explicit FaultyFileSystem(const Faults& faults) : faults_(faults) {
    if (!faults.removed_files.empty()) names_.emplace(faults.removed_files);
  }

  std::int64_t num_calls() const { return num_calls_; }

  /// Returns the name of the first call that failed; "" if none did.
  const std::string& failed_call() const { return failed_call_; }

  /// Loses all bytes and changes of names that were not synced, as at a power cut.
  void cut_power() {
    const std::lock_guard lock(mutex_);
    if (names_) names_->undo();
    for (const auto& [number, file] : open_) lose_unsynced(file);
    for (const Unsynced& file : closed_) lose_unsynced(file);
  }

  int open(const std::filesystem::path& path, int flags, unsigned permissions) override {
    if (fails("open")) return -1;
    const auto open = [&] { return FileSystem::open(path, flags, permissions); };
    const int file = (flags & O_CREAT) != 0 ? create(path, open) : open();
    if (file >= 0 && (flags & O_ACCMODE) != O_RDONLY) follow(file);
    return file;
  }
  ssize_t write(int file, std::string_view bytes) override {
    if (!fails("write")) return FileSystem::write(file, faults_.writes_are_short ? half_of(bytes) : bytes);
    const int error = errno;
    const ssize_t written = FileSystem::write(file, half_of(bytes));
    errno = error;
    return faults_.is_short_write ? written : -1;
  }
  int truncate(int file, std::uint64_t size) override {
    return fails("truncate") ? -1 : FileSystem::truncate(file, size);
  }
  int sync(int file) override {
    const bool has_failed = fails("sync");
    const int error = errno;
    const std::lock_guard lock(mutex_);
    const auto unsynced = open_.find(file);
    if (unsynced == open_.end()) {
      if (names_ && !has_failed) names_->sync(file);
      errno = error;
      return has_failed ? -1 : 0;
    }
    if (has_failed) {
      lose_unsynced(unsynced->second);
    } else {
      unsynced->second.synced_size = size_of(file);
    }
    errno = error;
    return has_failed ? -1 : 0;
  }
  int close(int file) override {
    {
      const std::lock_guard lock(mutex_);
      const auto unsynced = open_.find(file);
      if (unsynced != open_.end() && size_of(file) > unsynced->second.synced_size) {
        closed_.push_back(std::move(unsynced->second));
      }
      if (unsynced != open_.end()) open_.erase(unsynced);
    }
    FileSystem::close(file);
    return fails("close") ? -1 : 0;
  }
  int make_directory(const std::filesystem::path& path) override {
    return fails("mkdir") ? -1 : create(path, [&] { return FileSystem::make_directory(path); });
  }
  int rename(const std::filesystem::path& from, const std::filesystem::path& to) override {
    if (fails("rename")) return -1;
    const auto rename = [&] { return FileSystem::rename(from, to); };
    const std::lock_guard lock(mutex_);
    return names_ ? names_->rename(from, to, rename) : rename();
  }
  int exchange(const std::filesystem::path& left, const std::filesystem::path& right) override {
    if (fails("exchange")) return -1;
    if (!faults_.can_exchange) {
      errno = EINVAL;
      return -1;
    }
    const auto exchange = [&] { return FileSystem::exchange(left, right); };
    const std::lock_guard lock(mutex_);
    return names_ ? names_->exchange(left, right, exchange) : exchange();
  }
  int remove(const std::filesystem::path& file) override {
    if (fails("remove")) return -1;
    const std::lock_guard lock(mutex_);
    return names_ ? names_->remove(file) : FileSystem::remove(file);
  }
  void remove_all(const std::filesystem::path& directory) override {
    if (fails("remove_all")) return;
    const std::lock_guard lock(mutex_);
    names_ ? static_cast<void>(names_->remove(directory)) : FileSystem::remove_all(directory);
  }
  std::uint64_t free_bytes(const std::filesystem::path&) override { return faults_.free_bytes; }

 private:
  /// A second descriptor of a file, which stays open when the file is closed and renamed.
  struct Unsynced {
    Unsynced(int copy, std::uint64_t size) : file(copy), synced_size(size) {}
    Unsynced(Unsynced&& other) noexcept : file(std::exchange(other.file, -1)), synced_size(other.synced_size) {}
    Unsynced& operator=(Unsynced&&) = delete;
    ~Unsynced() { ::close(file); }

    int file;
    std::uint64_t synced_size;
  };

  static std::string_view half_of(std::string_view bytes) { return bytes.substr(0, (bytes.size() + 1) / 2); }

  static std::uint64_t size_of(int file) {
    struct stat status {};
    return ::fstat(file, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
  }

  static void lose_unsynced(const Unsynced& unsynced) {
    if (size_of(unsynced.file) <= unsynced.synced_size) return;
    [[maybe_unused]] const int result = ::ftruncate(unsynced.file, static_cast<off_t>(unsynced.synced_size));
  }

  void follow(int file) {
    const std::lock_guard lock(mutex_);
    open_.emplace(file, Unsynced(::fcntl(file, F_DUPFD_CLOEXEC, 0), size_of(file)));
  }

  int create(const std::filesystem::path& path, const std::function<int()>& change) {
    const std::lock_guard lock(mutex_);
    return names_ ? names_->create(path, change) : change();
  }

  bool is_numbered(std::string_view call) const {
    if (faults_.is_short_write && call != "write") return false;
    const bool is_this_thread = std::this_thread::get_id() == thread_;
    return faults_.calls_of == CallsOf::kAllThreads || is_this_thread == (faults_.calls_of == CallsOf::kThisThread);
  }

  bool fails(const char* call) {
    const std::lock_guard lock(mutex_);
    const std::int64_t number = is_numbered(call) ? ++num_calls_ : 0;
    const bool is_first = number == faults_.first;
    if (is_first) failed_call_ = call;
    errno = faults_.error;
    return faults_.are_lasting ? !failed_call_.empty() : is_first;
  }

  Faults faults_;
  std::thread::id thread_ = std::this_thread::get_id();
  std::mutex mutex_;
  std::int64_t num_calls_ = 0;
  std::string failed_call_;
  std::optional<NameJournal> names_;
  std::map<int, Unsynced> open_;
  std::vector<Unsynced> closed_;
};

}  // namespace edgewise
