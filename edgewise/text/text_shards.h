// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "edgewise/base/regular_file.h"
#include "edgewise/text/byte_source.h"

namespace edgewise {

/// The most shards of a text.
inline constexpr std::int64_t kMaxShards = 99'999;

/// The bytes of a file from `begin` to before `end`. Both are beginnings of lines or the end of the file.
struct FileSpan {
  std::size_t file = 0;  // index of the file in its ShardedText
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  friend bool operator==(const FileSpan&, const FileSpan&) = default;
};

/// Lines of a text of several files, whose bytes are numbered through all files.
struct TextShard {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::vector<FileSpan> spans;  // without empty ones
};

/// The number of lines and the SHA-256 of the bytes of a shard.
struct ShardContent {
  std::int64_t lines = 0;
  std::string sha256;
};

/// One or several text files as one sequence of lines, which is divided into shards without reading the files: shard i
/// of n has the lines whose first bytes are from i/n to before (i + 1)/n of all bytes.
class ShardedText {
 public:
  struct File {
    std::string path;
    std::uint64_t size = 0;  // bytes
    std::string sha256;  // sum of a sample of the file: kSampledBlocks blocks of kBlockBytes, or all bytes if no more
  };
  static constexpr std::uint64_t kSampledBlocks = 256;
  static constexpr std::uint64_t kBlockBytes = 4096;

  /// Opens the files. Throws Error, which begins with `caller`, without a file, for a file that is not a regular file
  /// or is compressed, and for a file before the last one that does not end with a line feed.
  ShardedText(const std::vector<std::string>& paths, std::string caller);

  const std::vector<File>& files() const { return files_; }

  /// Returns the bytes of all files.
  std::uint64_t size() const { return starts_.back(); }

  /// Returns shard `index` of `count`; `count` is from 1 to kMaxShards, and `index` from 0 to below `count`. A shard in
  /// whose bytes no line begins is empty. Reads the lines around both ends.
  TextShard shard(std::int64_t index, std::int64_t count) const;

  /// Reads all bytes of a shard, and no others. A file that has only a byte order mark has no line. Throws Error if a
  /// file has become shorter.
  ShardContent read(const TextShard& shard) const;

  /// Returns a source of the bytes of a span, which the text must outlive. The source throws Error if the file has
  /// become shorter.
  std::unique_ptr<ByteSource> open(const FileSpan& span) const;

 private:
  std::uint64_t first_line_from(std::uint64_t offset) const;

  std::string caller_;
  std::vector<File> files_;
  std::vector<RegularFile> open_files_;
  std::vector<std::uint64_t> starts_ = {0};  // number of the first byte of each file, and of all bytes
};

}  // namespace edgewise
