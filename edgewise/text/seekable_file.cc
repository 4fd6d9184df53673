// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/seekable_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

/// Reads a file from an offset, independently of other readers.
class OffsetSource final : public ByteSource {
 public:
  OffsetSource(const FileDescriptor& file, std::int64_t offset, const std::string& caller, const std::string& name)
      : file_(file), offset_(offset), caller_(caller), name_(name) {}

  std::size_t read(std::span<char> buffer) override {
    while (true) {
      const ssize_t count = ::pread(file_.number(), buffer.data(), buffer.size(), offset_);
      if (count >= 0) {
        offset_ += count;
        return static_cast<std::size_t>(count);
      }
      if (errno != EINTR) fail("{}: {}: {}", caller_, name_, error_text(errno));
    }
  }

 private:
  const FileDescriptor& file_;
  std::int64_t offset_;
  std::string caller_;
  std::string name_;
};

/// Copies the text to a file without a name, which the system deletes even if the program crashes.
FileDescriptor copy_decompressed(const std::string& path, const std::string& caller) {
  const auto source = open_source({.path = path, .caller = caller});
  std::error_code folder_error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(folder_error);
  check(!folder_error, "{}: TMPDIR: {}; {} is unpacked there, set TMPDIR to a directory with room for it", caller,
        folder_error.message(), source_name(path));
  std::string copy_path = (folder / "edgewise-XXXXXX").string();
  FileDescriptor copy(::mkostemp(copy_path.data(), O_CLOEXEC));
  const auto check_error = [&](int error) {
    check(error == 0, "{}: {}: {}; {} is unpacked there, set TMPDIR to a directory with room for it", caller, copy_path,
          error_text(error), source_name(path));
  };
  check_error(copy.is_open() ? 0 : errno);
  ::unlink(copy_path.c_str());
  std::vector<char> chunk(std::size_t{1} << 16);
  while (const std::size_t count = source->read(chunk)) check_error(write_all(copy, {chunk.data(), count}));
  return copy;
}

bool is_seekable(const std::string& path, const std::string& caller) {
  std::error_code error;
  return path != "-" && std::filesystem::is_regular_file(path, error) &&
         !is_compressed({.path = path, .caller = caller});
}

FileDescriptor open_seekable(const std::string& path, const std::string& caller) {
  if (!is_seekable(path, caller)) return copy_decompressed(path, caller);
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  check(file.is_open(), "{}: {}: {}", caller, path, error_text(errno));
  return file;
}

}  // namespace

SeekableFile::SeekableFile(const std::string& path, const std::string& caller)
    : name_(source_name(path)), caller_(caller), file_(open_seekable(path, caller)) {}

std::unique_ptr<ByteSource> SeekableFile::from(std::int64_t offset) const {
  return std::make_unique<OffsetSource>(file_, offset, caller_, name_);
}

}  // namespace edgewise
