// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/text/byte_source.h"

namespace edgewise {

/// What becomes of a line that is longer than the limit: an error, or its beginning up to the limit.
enum class LongLines { kError, kCut };

struct LineReaderOptions {
  std::size_t max_line_bytes = std::size_t{1} << 20;
  LongLines long_lines = LongLines::kError;
  std::size_t chunk_size = std::size_t{64} * 1024;  // bytes read at a time
  std::string caller = "read_lines";                // the function that errors begin with
};

/// What was not as it should be and was put right.
struct LineRepairs {
  bool byte_order_mark = false;       // a UTF-8 one, left out
  std::int64_t carriage_returns = 0;  // lines that ended with CR LF
  std::int64_t long_lines = 0;        // lines that were cut
};

/// Reads a text file line by line, plain or packed (byte_source.h), in memory that does not grow with the file or with
/// a line. Only a line feed ends a line; one carriage return before it goes. A last line without line feed is one.
/// Bytes are given as they are: whether they are UTF-8 is for the caller to say (utf8.h).
class LineReader {
 public:
  /// Reads a file, or standard input for "-". Throws Error when it cannot be read or begins like UTF-16 or UTF-32.
  explicit LineReader(const std::string& path, const LineReaderOptions& options = {});

  /// Reads what `source` gives, which errors call `name`: a part of a file behind its first `lines_before` lines.
  LineReader(std::unique_ptr<ByteSource> source, std::string name, std::int64_t lines_before,
             const LineReaderOptions& options = {});

  /// False at the end of the file; then `line` is empty.
  bool next(std::string& line);

  /// Of the line that was read last; the first is 1.
  std::int64_t line_number() const { return line_number_; }

  /// Bytes of the source that the lines so far, and a byte order mark, took up.
  std::int64_t offset() const { return bytes_read_ - static_cast<std::int64_t>(end_ - begin_); }

  /// Whether the line that was read last is only the beginning of a longer one.
  bool was_cut() const { return was_cut_; }

  const LineRepairs& repairs() const { return repairs_; }

  /// As errors and reports name it.
  const std::string& path() const { return path_; }

 private:
  std::size_t read_some(std::span<char> buffer);
  bool refill();
  void skip_byte_order_mark();
  void append(std::string& line, std::string_view piece);
  void finish(std::string& line, bool has_line_feed);

  std::string path_;
  LineReaderOptions options_;
  std::unique_ptr<ByteSource> source_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::int64_t bytes_read_ = 0;
  std::int64_t line_number_ = 0;
  bool was_cut_ = false;
  LineRepairs repairs_;
};

/// The lines of a file that are not empty. Throws Error, which begins with `caller`, when there is none.
std::vector<std::string> read_sentences(const std::string& path, std::string_view caller);

}  // namespace edgewise
