// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/text/corpus/indexed_text.h"
#include "edgewise/text/corpus/parallel_text.h"

namespace edgewise {

/// Consecutive text of one document.
struct Passage {
  std::string text;
  bool begins = false;  // whether the document begins with this text
  bool ends = false;    // whether the document ends with this text
};

/// A part of a file, from byte `begin` to before byte `end`.
struct FileRange {
  std::shared_ptr<const SeekableFile> file;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool ends_document = true;  // whether the last document ends with the range
};

/// Returns the range of a whole file.
FileRange whole_file(std::shared_ptr<const SeekableFile> file);

/// Cuts a file in two at about the share `first` of its bytes, between two code points, or between two bytes if
/// `is_bytes` is true. A document that goes on behind the cut has no end in the first range.
std::pair<FileRange, FileRange> cut_file(const std::shared_ptr<const SeekableFile>& file, double first, bool is_bytes);

struct DocumentOptions {
  std::string separator = {};          // a line that ends a document; empty: a range is one document
  bool is_bytes = false;               // whether the text may have any bytes; otherwise it is UTF-8
  BadUtf8 bad_utf8 = BadUtf8::kError;  // kSkip leaves out the line
  std::int64_t block_bytes = std::int64_t{1} << 20;
  std::string caller = "read_texts";  // error messages begin with this function name
};

/// Counts of a text.
struct DocumentReport {
  std::int64_t bytes = 0;
  std::int64_t lines = 0;                   // without separators and skipped lines
  std::int64_t documents = 0;               // with text
  std::int64_t skipped = 0;                 // lines that are not UTF-8
  std::int64_t replaced = 0;                // lines whose invalid bytes became U+FFFD
  std::vector<std::string> first_bad = {};  // places of the first five of these lines
};

/// Documents that stay in their files, in numbered blocks of whole lines; a line longer than a block is cut between two
/// code points. Several threads may read blocks in any order. Memory holds 48 bytes for each block. Reading a block
/// whose text has changed is an error. Lines keep their ends, except for the separators, which are no text.
class DocumentText {
 public:
  /// Reads the ranges once from begin to end. Throws Error if there is no text, and for text that is not UTF-8 if the
  /// options say so.
  DocumentText(std::vector<FileRange> ranges, const DocumentOptions& options);

  std::int64_t num_blocks() const { return static_cast<std::int64_t>(blocks_.size()); }
  std::int64_t num_bytes(std::int64_t block) const { return blocks_[static_cast<std::size_t>(block)].bytes; }

  /// Returns the passages of a block in order. A passage with begins = false continues the last passage of the block
  /// before; its text is empty if a separator follows the end of that block.
  std::vector<Passage> read(std::int64_t block) const;

  const DocumentReport& report() const { return report_; }

  /// Returns a hash of the documents.
  std::uint64_t fingerprint() const { return fingerprint_; }

 private:
  struct Block {
    std::size_t range = 0;
    std::int64_t offset = 0;
    std::int64_t bytes = 0;
    std::uint64_t hash = 0;
    std::int64_t lines_before = 0;  // in the range
    bool begins = false;            // whether a document begins with the block
    bool ends = false;              // whether the last document of the block ends with it
  };

  void index_range(std::size_t range);
  std::string read_bytes(const Block& block) const;
  std::vector<Passage> split(const Block& block, std::string_view bytes, DocumentReport& report) const;
  bool repair(std::string& line, const Block& block, std::int64_t number, DocumentReport& report) const;

  std::vector<FileRange> ranges_;
  DocumentOptions options_;
  std::vector<Block> blocks_;
  DocumentReport report_;
  std::uint64_t fingerprint_ = 0;
};

/// Returns about `max_lines` lines, evenly spread over the text (0: all), to learn a vocabulary from. Lines keep their
/// ends.
std::vector<std::string> sample_lines(const DocumentText& text, std::int64_t max_lines);

}  // namespace edgewise
