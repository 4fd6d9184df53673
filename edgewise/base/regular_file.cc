// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

// O_NONBLOCK: without it, opening a FIFO waits for a writer.
constexpr int kFlags = O_RDONLY | O_NONBLOCK | O_CLOEXEC;

std::string_view describe_kind(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return "no regular file";
}

// Whether open() failed because the path is a socket, or a device that is not there.
bool is_no_file(int error) { return error == ENXIO || error == ENODEV; }

}  // namespace

/// The results of open(): a descriptor, or -1 and the error.
struct RegularFile::Opened {
  explicit Opened(int result, bool follows = true)
      : number(result), error(result < 0 ? errno : 0), follows_links(follows) {}

  int number;
  int error;
  bool follows_links;
};

RegularFile::RegularFile(const std::filesystem::path& path, std::string_view caller)
    : RegularFile(Opened(::open(path.c_str(), kFlags)), path, caller) {}

RegularFile::RegularFile(const FileDescriptor& open_folder, const std::filesystem::path& folder, std::string_view name,
                         std::string_view caller)
    : RegularFile(Opened(::openat(open_folder.number(), std::string(name).c_str(), kFlags | O_NOFOLLOW), false),
                  folder / name, caller) {}

RegularFile::RegularFile(Opened opened, const std::filesystem::path& path, std::string_view caller)
    : path_(path), caller_(caller), file_(opened.number) {
  check(opened.error != ELOOP || opened.follows_links, "{}: {} is a symbolic link, needs to be a regular file", caller_,
        path_.string());
  check(!is_no_file(opened.error), "{}: {} is a socket or device, needs to be a regular file", caller_, path_.string());
  check(file_.is_open(), "{}: {}: {}", caller_, path_.string(), error_text(opened.error));
  struct stat status {};
  check(::fstat(file_.number(), &status) == 0, "{}: {}: {}", caller_, path_.string(), error_text(errno));
  check(S_ISREG(status.st_mode), "{}: {} is {}, needs to be a regular file", caller_, path_.string(),
        describe_kind(status.st_mode));
  size_ = static_cast<std::uint64_t>(status.st_size);
}

std::string RegularFile::read(std::uint64_t max_bytes) const {
  std::string bytes;
  std::size_t read = 0;
  std::uint64_t expected = size_;
  do {
    check(expected <= max_bytes, "{}: {} has {} bytes, needs at most {}", caller_, path_.string(), expected, max_bytes);
    // One byte more than the file has, so that the last read() returns 0 without growing the buffer.
    bytes.resize(expected + 1);
    while (const std::size_t count = read_at(read, bytes.data() + read, bytes.size() - read)) read += count;
    // Only needed if the buffer is full: the file grows, or its size is unknown.
    expected = read <= max_bytes ? std::min<std::uint64_t>(2 * read + 4096, max_bytes) : read;
  } while (read == bytes.size());
  check(read >= size_, "{}: {} has {} bytes, needs the {} that it had when opened; it was cut while it was read",
        caller_, path_.string(), read, size_);
  bytes.resize(read);
  return bytes;
}

void RegularFile::for_each_chunk(const std::function<void(std::string_view)>& take) const {
  std::array<char, 1 << 16> buffer;
  std::uint64_t offset = 0;
  while (const std::size_t count =
             read_at(offset, buffer.data(), std::min<std::uint64_t>(buffer.size(), size_ - offset))) {
    take({buffer.data(), count});
    offset += count;
  }
}

// Returns 0 at the end of the file.
std::size_t RegularFile::read_at(std::uint64_t offset, char* buffer, std::size_t size) const {
  while (true) {
    const ssize_t count = ::pread(file_.number(), buffer, size, static_cast<off_t>(offset));
    if (count >= 0) return static_cast<std::size_t>(count);
    check(errno == EINTR, "{}: {}: {}", caller_, path_.string(), error_text(errno));
  }
}

}  // namespace edgewise
