// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/files/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "edgewise/base/available_memory.h"
#include "edgewise/base/error.h"
#include "edgewise/base/files/file_system.h"

namespace edgewise {
namespace {

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

void check_regular(const struct stat& status, const std::filesystem::path& path, std::string_view caller) {
  check(S_ISREG(status.st_mode), "{}: {} is {}, needs to be a regular file", caller, path.string(),
        describe_kind(status.st_mode));
}

// Whether open() failed because the path is a socket, or a device that is not there.
bool is_no_file(int error) { return error == ENXIO || error == ENODEV; }

int flags_of(SymbolicLinks links) { return links == SymbolicLinks::kRefused ? kFlags | O_NOFOLLOW : kFlags; }

}  // namespace

/// The results of open(): a descriptor, or -1 and the error.
struct RegularFile::OpenResult {
  OpenResult(int result, SymbolicLinks symbolic_links)
      : number(result), error(result < 0 ? errno : 0), links(symbolic_links) {}

  int number;
  int error;
  SymbolicLinks links;
};

RegularFile::RegularFile(const std::filesystem::path& path, std::string_view caller, SymbolicLinks links)
    : RegularFile(OpenResult(::open(path.c_str(), flags_of(links)), links), path, caller) {}

RegularFile::RegularFile(const FileDescriptor& open_folder, const std::filesystem::path& folder, std::string_view name,
                         std::string_view caller)
    : RegularFile(OpenResult(::openat(open_folder.number(), std::string(name).c_str(), kFlags | O_NOFOLLOW),
                             SymbolicLinks::kRefused),
                  folder / name, caller) {}

RegularFile::RegularFile(OpenResult opened, const std::filesystem::path& path, std::string_view caller)
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

// Returns 0 at the end of the file.
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

FileDescriptor open_regular_file(const std::filesystem::path& path, int flags, std::string_view caller) {
  FileDescriptor file(file_system().open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags, 0666));
  const int error = file.is_open() ? 0 : errno;
  struct stat status {};
  const int result = file.is_open() ? ::fstat(file.number(), &status) : ::lstat(path.c_str(), &status);
  if (result == 0) check_regular(status, path, caller);
  check(error == 0, "{}: {}: {}", caller, path.string(), error_text(error));
  return file;
}

}  // namespace edgewise
