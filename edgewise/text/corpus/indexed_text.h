// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "edgewise/base/files/file_system.h"
#include "edgewise/text/corpus/byte_source.h"
#include "edgewise/text/corpus/text_blocks.h"

namespace edgewise {

/// A file that several threads can read at any offset. Compressed files, standard input and pipes are first copied,
/// decompressed, to an unnamed file in TMPDIR (by default /tmp), which exists as long as this object.
class SeekableFile {
 public:
  /// Throws Error if the file cannot be read or the disk is full; messages begin with `caller`.
  SeekableFile(const std::string& path, const std::string& caller);

  /// Returns a source of the bytes from `offset` to the end. The file must outlive the source.
  std::unique_ptr<ByteSource> from(std::int64_t offset) const;

  /// Returns the number of bytes, decompressed.
  std::int64_t size() const;

  /// Returns the name of the file for messages.
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  std::string caller_;
  FileDescriptor file_;
};

/// A corpus that stays in its files: one TSV, or two files with a sentence on each line, and perhaps a file of links
/// (PairOptions::has_links). SeekableFile copies compressed files and pipes. Memory holds 56 bytes for each block: its
/// offsets and a hash. Reading a block whose text has changed is an error, so an epoch never mixes two versions of a
/// file.
class IndexedText final : public TextBlocks {
 public:
  /// Reads the files once from begin to end, with the errors of read_pairs. The corpus ends after `limit` usable pairs;
  /// 0: no limit.
  IndexedText(std::span<const std::string> files, const PairOptions& options, std::int64_t limit = 0);

  std::int64_t num_blocks() const override { return static_cast<std::int64_t>(blocks_.size()); }
  std::int64_t num_pairs(std::int64_t block) const override { return at(block).pairs; }
  SentencePairs read(std::int64_t block) const override;
  const PairReport& report() const override { return report_; }
  std::uint64_t fingerprint() const override { return fingerprint_; }

 private:
  struct Block {
    std::array<std::int64_t, 3> offsets{};  // begin of the block in each file
    std::int64_t lines_before = 0;
    std::int32_t lines = 0;
    std::int32_t pairs = 0;
    std::uint64_t hash = 0;
  };

  const Block& at(std::int64_t block) const { return blocks_[static_cast<std::size_t>(block)]; }
  PairReader reader_from(const Block& block) const;
  void index(std::int64_t limit);

  PairOptions options_;
  std::vector<SeekableFile> files_;
  std::string name_;
  std::vector<Block> blocks_;
  PairReport report_;
  std::uint64_t fingerprint_ = 0;
};

}  // namespace edgewise
