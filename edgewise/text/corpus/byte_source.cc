// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/corpus/byte_source.h"

#include <fcntl.h>
#include <lzma.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#define ZLIB_CONST  // declares zlib's input pointers as pointers to const
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/base/files/file_system.h"

namespace edgewise {
namespace {

using namespace std::string_view_literals;

constexpr auto kGzipMagic = "\x1F\x8B"sv;
constexpr auto kXzMagic = "\xFD\x37zXZ\0"sv;
constexpr auto kZstdMagic = "\x28\xB5\x2F\xFD"sv;
constexpr std::array kMagicNumbers = {kGzipMagic, kXzMagic, kZstdMagic};
// A text is rarely compressed more than a hundredfold. A file that expands more than kMaxExpansion times is taken for a
// decompression bomb.
constexpr std::uint64_t kMaxExpansion = 1000;
constexpr std::uint64_t kUncheckedBytes = std::uint64_t{64} << 20;  // decompressed bytes without a check
constexpr std::uint64_t kMaxXzMemory = std::uint64_t{256} << 20;    // xz -9 needs 65 MiB

/// Opens a file, or duplicates the descriptor of standard input, so that closing the result does not close stdin.
int open_input(const std::string& path) {
  return path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
}

/// Returns whether a device has an end: a terminal or /dev/null, but not /dev/zero.
bool has_end(int file, const struct stat& status) {
  return ::isatty(file) == 1 || (S_ISCHR(status.st_mode) && status.st_rdev == ::makedev(1, 3));
}

bool is_endless_device(int file) {
  struct stat status {};
  if (::fstat(file, &status) != 0) return false;
  return (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode)) && !has_end(file, status);
}

/// Reads a file as it is. Its first bytes can be inspected before they are read.
class FileSource final : public ByteSource {
 public:
  explicit FileSource(const SourceOptions& options) : options_(options), file_(open_input(options.path)) {
    if (!file_.is_open()) fail_with_errno();
    check(!is_endless_device(file_.number()), "{}: {} is a device, needs a file, a pipe or a terminal", options_.caller,
          source_name(options_.path));
    // Reads no more than it must: waiting for more bytes would block on a short line from a terminal.
    while (is_partial_magic()) {
      const std::size_t count = read_file(std::span(head_).subspan(head_size_));
      if (count == 0) break;
      head_size_ += count;
    }
  }

  bool begins_with(std::string_view magic) const {
    return std::string_view(head_.data(), head_size_).starts_with(magic);
  }

  /// Returns whether the bytes read so far are a proper prefix of a magic number.
  bool is_partial_magic() const {
    const std::string_view start(head_.data(), head_size_);
    return std::ranges::any_of(
        kMagicNumbers, [&](std::string_view magic) { return start.size() < magic.size() && magic.starts_with(start); });
  }

  std::size_t read(std::span<char> buffer) override {
    if (head_begin_ == head_size_) return read_file(buffer);
    const std::size_t count = std::min(buffer.size(), head_size_ - head_begin_);
    std::memcpy(buffer.data(), head_.data() + head_begin_, count);
    head_begin_ += count;
    return count;
  }

 private:
  std::size_t read_file(std::span<char> buffer) const {
    while (true) {
      if (options_.stop != nullptr) wait_for_bytes();
      const ssize_t count = ::read(file_.number(), buffer.data(), buffer.size());
      if (count >= 0) return static_cast<std::size_t>(count);
      if (errno != EINTR) fail_with_errno();
    }
  }

  /// Waits until read() would not block. Throws StopException if `options_.stop` is set meanwhile.
  void wait_for_bytes() const {
    constexpr int kIntervalMs = 100;  // between two checks of options_.stop
    pollfd readable = {.fd = file_.number(), .events = POLLIN, .revents = 0};
    int ready = 0;
    do {
      throw_if_set(options_.stop);
      ready = ::poll(&readable, 1, kIntervalMs);
    } while (ready == 0 || (ready < 0 && errno == EINTR));
  }

  [[noreturn]] void fail_with_errno() const {
    fail("{}: {}: {}", options_.caller, source_name(options_.path), std::strerror(errno));
  }

  SourceOptions options_;
  FileDescriptor file_;
  std::array<char, kXzMagic.size()> head_{};
  std::size_t head_size_ = 0;
  std::size_t head_begin_ = 0;
};

/// Base of the decompressors: a buffer of compressed bytes, refilled from the file, and a limit for the expansion.
class CompressedSource : public ByteSource {
 public:
  CompressedSource(std::unique_ptr<ByteSource> file, const SourceOptions& options, std::string_view format)
      : options_(options), format_(format), file_(std::move(file)), buffer_(options.chunk_size) {}

  std::size_t read(std::span<char> buffer) final {
    const std::size_t count = decompress(buffer);
    decompressed_bytes_ += count;
    check(decompressed_bytes_ <= kUncheckedBytes || decompressed_bytes_ / kMaxExpansion <= compressed_bytes_,
          "{}: {} has {} data that decompresses to more than {} times its size, needs at most {} times; if the file is "
          "right, decompress it first",
          options_.caller, source_name(options_.path), format_, kMaxExpansion, kMaxExpansion);
    return count;
  }

 protected:
  /// Writes to the front of `buffer` and returns the number of bytes; 0 only at the end.
  virtual std::size_t decompress(std::span<char> buffer) = 0;

  /// Returns compressed bytes that are not consumed yet; empty only at the end of the file.
  std::span<const char> compressed() {
    if (begin_ == end_) {
      begin_ = 0;
      end_ = file_->read(buffer_);
      compressed_bytes_ += end_;
    }
    return std::span<const char>(buffer_).subspan(begin_, end_ - begin_);
  }

  void consume(std::size_t count) { begin_ += count; }

  [[noreturn]] void fail_truncated() const {
    fail("{}: {} ends in the middle of its {} data, needs to be whole", options_.caller, source_name(options_.path),
         format_);
  }

  [[noreturn]] void fail_corrupt(std::string_view reason) const {
    fail("{}: {} has {} data that cannot be decompressed ({}), needs to be as it was compressed", options_.caller,
         source_name(options_.path), format_, reason);
  }

 private:
  SourceOptions options_;
  std::string_view format_;
  std::unique_ptr<ByteSource> file_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t compressed_bytes_ = 0;
  std::uint64_t decompressed_bytes_ = 0;
};

class GzipSource final : public CompressedSource {
 public:
  GzipSource(std::unique_ptr<ByteSource> file, const SourceOptions& options)
      : CompressedSource(std::move(file), options, "gzip") {
    constexpr int kGzipOnly = 16;
    if (inflateInit2(&stream_, kGzipOnly + MAX_WBITS) != Z_OK) throw std::bad_alloc();
  }
  ~GzipSource() override { inflateEnd(&stream_); }

  std::size_t decompress(std::span<char> buffer) override {
    while (true) {
      const auto input = compressed();
      if (input.empty()) {
        if (is_inside_member_) fail_truncated();
        return 0;
      }
      const std::size_t count = inflate_some(input, buffer);
      if (count > 0) return count;
    }
  }

 private:
  std::size_t inflate_some(std::span<const char> input, std::span<char> buffer) {
    stream_.next_in = reinterpret_cast<const Bytef*>(input.data());
    stream_.avail_in = static_cast<uInt>(input.size());
    stream_.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream_.avail_out = static_cast<uInt>(buffer.size());
    is_inside_member_ = true;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    consume(input.size() - stream_.avail_in);
    if (status == Z_STREAM_END) {
      inflateReset(&stream_);
      is_inside_member_ = false;
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      fail_corrupt(stream_.msg != nullptr ? stream_.msg : zError(status));
    }
    return buffer.size() - stream_.avail_out;
  }

  z_stream stream_{};
  bool is_inside_member_ = false;
};

class XzSource final : public CompressedSource {
 public:
  XzSource(std::unique_ptr<ByteSource> file, const SourceOptions& options)
      : CompressedSource(std::move(file), options, "xz") {
    if (lzma_stream_decoder(&stream_, kMaxXzMemory, LZMA_CONCATENATED) != LZMA_OK) throw std::bad_alloc();
  }
  ~XzSource() override { lzma_end(&stream_); }

  std::size_t decompress(std::span<char> buffer) override {
    stream_.next_out = reinterpret_cast<std::uint8_t*>(buffer.data());
    stream_.avail_out = buffer.size();
    while (stream_.avail_out == buffer.size() && !is_at_end_) {
      const auto input = compressed();
      stream_.next_in = reinterpret_cast<const std::uint8_t*>(input.data());
      stream_.avail_in = input.size();
      const lzma_ret status = lzma_code(&stream_, input.empty() ? LZMA_FINISH : LZMA_RUN);
      consume(input.size() - stream_.avail_in);
      is_at_end_ = status == LZMA_STREAM_END;
      if (status != LZMA_OK && !is_at_end_) fail_with_status(status);
    }
    return buffer.size() - stream_.avail_out;
  }

 private:
  [[noreturn]] void fail_with_status(lzma_ret status) const {
    switch (status) {
      case LZMA_BUF_ERROR:
        fail_truncated();
      case LZMA_MEMLIMIT_ERROR:
        fail_corrupt(fmt::format("its dictionary is above {} MiB", kMaxXzMemory >> 20));
      case LZMA_OPTIONS_ERROR:
        fail_corrupt("unknown options");
      default:
        fail_corrupt("it was altered, or other bytes follow it");
    }
  }

  lzma_stream stream_ = LZMA_STREAM_INIT;
  bool is_at_end_ = false;
};

class ZstdSource final : public CompressedSource {
 public:
  ZstdSource(std::unique_ptr<ByteSource> file, const SourceOptions& options)
      : CompressedSource(std::move(file), options, "zstd"), stream_(ZSTD_createDStream()) {
    if (stream_ == nullptr) throw std::bad_alloc();
  }
  ~ZstdSource() override { ZSTD_freeDStream(stream_); }

  std::size_t decompress(std::span<char> buffer) override {
    ZSTD_outBuffer output = {buffer.data(), buffer.size(), 0};
    while (output.pos == 0) {
      const auto bytes = compressed();
      if (bytes.empty() && !is_inside_frame_) return 0;
      ZSTD_inBuffer input = {bytes.data(), bytes.size(), 0};
      const std::size_t remaining = ZSTD_decompressStream(stream_, &output, &input);
      if (ZSTD_isError(remaining) != 0) fail_corrupt(ZSTD_getErrorName(remaining));
      consume(input.pos);
      is_inside_frame_ = remaining != 0;
      if (bytes.empty() && output.pos == 0 && is_inside_frame_) fail_truncated();
    }
    return output.pos;
  }

 private:
  ZSTD_DStream* stream_;
  bool is_inside_frame_ = false;
};

}  // namespace

std::string source_name(const std::string& path) { return path == "-" ? "standard input" : path; }

std::unique_ptr<ByteSource> open_source(const SourceOptions& options) {
  auto file = std::make_unique<FileSource>(options);
  if (file->begins_with(kGzipMagic)) return std::make_unique<GzipSource>(std::move(file), options);
  if (file->begins_with(kXzMagic)) return std::make_unique<XzSource>(std::move(file), options);
  if (file->begins_with(kZstdMagic)) return std::make_unique<ZstdSource>(std::move(file), options);
  return file;
}

bool is_compressed(const SourceOptions& options) {
  const FileSource file(options);
  return std::ranges::any_of(kMagicNumbers, [&](std::string_view magic) { return file.begins_with(magic); });
}

}  // namespace edgewise
