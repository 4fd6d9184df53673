// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/files/unfinished_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

namespace edgewise {
namespace {

/// The registered names, as a list that only grows, because a signal handler may read the list at any moment. An entry
/// without a name is free. The code that exchanges a name for null owns it: UnfinishedFile frees the name, the signal
/// handler does not.
struct RegistryEntry {
  std::atomic<char*> name = nullptr;
  RegistryEntry* next = nullptr;
};
std::atomic<RegistryEntry*> first_entry = nullptr;
std::mutex registry_mutex;
static_assert(std::atomic<char*>::is_always_lock_free && std::atomic<RegistryEntry*>::is_always_lock_free);

std::atomic<char*>& register_name(const std::filesystem::path& path) {
  char* name = ::strdup(path.c_str());
  if (name == nullptr) throw std::bad_alloc();
  const std::lock_guard lock(registry_mutex);
  RegistryEntry* entry = first_entry;
  while (entry != nullptr && entry->name != nullptr) entry = entry->next;
  if (entry == nullptr) {
    entry = new RegistryEntry{.next = first_entry};
    first_entry = entry;
  }
  entry->name = name;
  return entry->name;
}

/// Removes the files whose names one system call returns. readdir() would allocate memory.
void remove_files_of(const char* directory) noexcept {
  const int number = ::open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (number < 0) return;
  alignas(dirent64) std::array<char, 4096> entries;
  const ssize_t size = ::getdents64(number, entries.data(), entries.size());
  for (ssize_t offset = 0; offset < size;) {
    const auto* entry = reinterpret_cast<const dirent64*>(entries.data() + offset);
    ::unlinkat(number, entry->d_name, 0);
    offset += entry->d_reclen;
  }
  ::close(number);
}

void remove_directory(const char* directory) noexcept {
  constexpr int kMostAttempts = 100;  // other threads may create files meanwhile
  for (int attempt = 0; attempt < kMostAttempts && ::rmdir(directory) != 0 && errno == ENOTEMPTY; ++attempt) {
    remove_files_of(directory);
  }
}

}  // namespace

UnfinishedFile::UnfinishedFile(const std::filesystem::path& path) : name_(register_name(path)) {}

UnfinishedFile::~UnfinishedFile() { std::free(name_.exchange(nullptr)); }

void remove_unfinished_files() noexcept {
  for (RegistryEntry* entry = first_entry; entry != nullptr; entry = entry->next) {
    const char* name = entry->name.exchange(nullptr);
    if (name != nullptr && ::unlink(name) != 0 && errno == EISDIR) remove_directory(name);
  }
}

}  // namespace edgewise
