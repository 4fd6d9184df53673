// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/files/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "edgewise/base/memory.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kChunk = 1 << 16;  // bytes

// O_NONBLOCK: without it, opening a FIFO waits for a writer.
constexpr int kFlags = O_RDONLY | O_NONBLOCK | O_CLOEXEC;

std::string_view describe_kind(mode_t mode) {
  if (S_ISLNK(mode)) return "a symbolic link";
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return "no regular file";
}

void check_regular(const struct stat& status, const fs::path& path, std::string_view caller) {
  check(S_ISREG(status.st_mode), "{}: {} is {}, needs to be a regular file", caller, path.string(),
        describe_kind(status.st_mode));
}

/// Whether open() failed because the path is a socket, or a device that is not there.
bool is_no_file(int error) { return error == ENXIO || error == ENODEV; }

int flags_of(SymbolicLinks links) { return links == SymbolicLinks::kRefused ? kFlags | O_NOFOLLOW : kFlags; }

bool leads_nowhere(const fs::path& path) {
  std::error_code error;
  return fs::is_symlink(fs::symlink_status(path, error)) && fs::status(path, error).type() == fs::file_type::not_found;
}

// Permissions of a new file, before the umask.
constexpr unsigned kReadAndWrite = 0666;

/// The file to replace, with symbolic links resolved, and its permissions.
struct Destination {
  fs::path path;
  unsigned permissions;
};

Destination find_destination(const fs::path& path, std::string_view caller) {
  std::error_code error;
  const fs::path real = real_path(path, error);
  check(!error, "{}: {}: {}; nothing was replaced", caller, path.string(), error.message());
  struct stat status {};
  if (::stat(real.c_str(), &status) != 0) return {real, kReadAndWrite};
  check(S_ISREG(status.st_mode), "{}: {} is not a regular file, needs one to replace", caller, path.string());
  return {real, status.st_mode & kReadAndWrite};
}

}  // namespace

/// The results of open(): a descriptor, or -1 and the error.
struct RegularFile::OpenResult {
  OpenResult(int result, SymbolicLinks symbolic_links)
      : number(result), error(result < 0 ? errno : 0), links(symbolic_links) {}

  int number;
  int error;
  SymbolicLinks links;
};

RegularFile::RegularFile(const fs::path& path, std::string_view caller, SymbolicLinks links)
    : RegularFile(OpenResult(::open(path.c_str(), flags_of(links)), links), path, caller) {}

RegularFile::RegularFile(const FileDescriptor& open_folder, const fs::path& folder, std::string_view name,
                         std::string_view caller)
    : RegularFile(OpenResult(::openat(open_folder.number(), std::string(name).c_str(), kFlags | O_NOFOLLOW),
                             SymbolicLinks::kRefused),
                  folder / name, caller) {}

RegularFile::RegularFile(OpenResult opened, const fs::path& path, std::string_view caller)
    : path_(path), caller_(caller), file_(opened.number) {
  check(opened.error != ELOOP || opened.links == SymbolicLinks::kFollowed,
        "{}: {} is a symbolic link, needs to be a regular file", caller_, path_.string());
  check(!is_no_file(opened.error), "{}: {} is a socket or device, needs to be a regular file", caller_, path_.string());
  if (!file_.is_open()) fail_to_read(opened.error);
  struct stat status {};
  if (::fstat(file_.number(), &status) != 0) fail_to_read(errno);
  check_regular(status, path_, caller_);
  size_ = static_cast<std::uint64_t>(status.st_size);
}

std::string RegularFile::read(std::uint64_t max_bytes) const {
  if (max_bytes == kAvailableMemory) {
    require_memory(static_cast<double>(size_), fmt::format("{}: {}", caller_, path_.string()),
                   "use a machine with more memory");
  }
  check(size_ <= max_bytes, "{}: {} has {} bytes, needs at most {}", caller_, path_.string(), size_, max_bytes);
  std::string bytes;
  bytes.reserve(size_);
  // The chunk stays in the cache. Reading into a resized string would write its memory twice.
  std::array<char, kChunk> chunk;
  while (true) {
    // One byte more than allowed shows that a file is too long: it grows, or its size is unknown.
    const std::uint64_t most = std::clamp<std::uint64_t>(max_bytes - bytes.size(), 1, chunk.size());
    const std::size_t count = read_at(bytes.size(), {chunk.data(), most});
    if (count == 0) break;
    const std::uint64_t total = bytes.size() + count;
    check(total <= max_bytes, "{}: {} has {} bytes, needs at most {}", caller_, path_.string(), total, max_bytes);
    bytes.append(chunk.data(), count);
  }
  check(bytes.size() >= size_,
        "{}: {} has {} bytes, needs the {} that it had when opened; it was cut while it was read", caller_,
        path_.string(), bytes.size(), size_);
  return bytes;
}

std::string RegularFile::read_range(std::uint64_t begin, std::uint64_t end) const {
  std::string bytes(end - begin, '\0');
  std::size_t size = 0;
  while (const std::size_t count = read_at(begin + size, std::span(bytes).subspan(size))) size += count;
  bytes.resize(size);
  return bytes;
}

void RegularFile::for_each_chunk(const std::function<void(std::string_view)>& take) const {
  std::array<char, kChunk> chunk;
  std::uint64_t offset = 0;
  while (const std::size_t count =
             read_at(offset, {chunk.data(), std::min<std::uint64_t>(chunk.size(), size_ - offset)})) {
    take({chunk.data(), count});
    offset += count;
  }
}

/// Returns 0 at the end of the file.
std::size_t RegularFile::read_at(std::uint64_t offset, std::span<char> buffer) const {
  while (true) {
    const ssize_t count = file_system().read_at(file_.number(), offset, buffer);
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno != EINTR) fail_to_read(errno);
  }
}

void RegularFile::fail_to_read(int error) const {
  const std::string text = fmt::format("{}: {}: {}", caller_, path_.string(), error_text(error));
  const bool is_absent = error == ENOENT || error == ENOTDIR || error == ELOOP || error == ENAMETOOLONG;
  if (is_absent) throw Error(text);
  throw UnreadableFile(text);
}

FileDescriptor open_regular_file(const fs::path& path, int flags, std::string_view caller) {
  FileDescriptor file(file_system().open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags, 0666));
  const int error = file.is_open() ? 0 : errno;
  struct stat status {};
  const int result = file.is_open() ? ::fstat(file.number(), &status) : ::lstat(path.c_str(), &status);
  if (result == 0) check_regular(status, path, caller);
  check(error == 0, "{}: {}: {}", caller, path.string(), error_text(error));
  return file;
}

fs::path real_path(const fs::path& path, std::error_code& error) {
  fs::path real = fs::absolute(path, error);
  // weakly_canonical() does not follow a link that leads nowhere.
  while (!error && leads_nowhere(real)) real = real.parent_path() / fs::read_symlink(real, error);
  return error ? fs::path() : fs::weakly_canonical(real, error);
}

std::string read_file(const fs::path& path, std::string_view caller, std::uint64_t max_bytes) {
  return RegularFile(path, caller).read(max_bytes);
}

bool has_entry(const fs::path& path, std::string_view caller) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0) return true;
  const int error = errno;
  check(error == ENOENT || error == ENOTDIR, "{}: {}: {}", caller, path.string(), error_text(error));
  return false;
}

bool path_exists(const fs::path& path, std::string_view caller) {
  std::error_code error;
  const bool exists = fs::exists(path, error);
  check(!error, "{}: {}: {}", caller, path.string(), error.message());
  return exists;
}

AtomicFile::AtomicFile(const fs::path& path, std::string_view caller) : path_(path), caller_(caller) {
  const Destination destination = find_destination(path, caller);
  destination_ = destination.path;
  remove_leftover_files(destination_);
  temporary_.emplace(destination_, [&](const fs::path& temporary) {
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

}  // namespace edgewise
