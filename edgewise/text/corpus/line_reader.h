// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/text/corpus/byte_source.h"

namespace edgewise {

/// Treatment of lines above the limit: an error, or cutting the line at the limit.
enum class LongLines { kError, kCut };

/// The bytes around lines: their line feeds, the carriage returns before the line feeds, and a byte order mark at the
/// beginning of the text. kRemove leaves them out of the lines, kKeep keeps all of them.
enum class LineEnds { kRemove, kKeep };

struct LineReaderOptions {
  std::size_t max_line_bytes = std::size_t{1} << 20;
  LongLines long_lines = LongLines::kError;
  LineEnds line_ends = LineEnds::kRemove;
  std::size_t chunk_size = std::size_t{64} * 1024;  // bytes read at a time
  std::string caller = "read_lines";                // error messages begin with this function name
  const StopRequest* stop = nullptr;                // ends reading (byte_source.h)
};

/// Irregularities of a file that a LineReader repaired.
struct LineRepairs {
  bool byte_order_mark = false;       // whether a UTF-8 byte order mark was skipped
  std::int64_t carriage_returns = 0;  // lines that ended with CR LF
  std::int64_t long_lines = 0;        // lines that were cut
};

/// Reads a text file, plain or compressed (byte_source.h), line by line. Memory grows neither with the file nor beyond
/// max_line_bytes. Only a line feed ends a line; by default, the line feed and a carriage return before it are removed.
/// The last line needs no line feed. The caller must check whether lines are UTF-8 (base/utf8.h).
class LineReader {
 public:
  /// Reads a file, or standard input for "-". Throws Error if it cannot be read or begins like UTF-16 or UTF-32.
  explicit LineReader(const std::string& path, const LineReaderOptions& options = {});

  /// Reads the part of file `name` after its first `lines_before` lines, which `source` provides.
  LineReader(std::unique_ptr<ByteSource> source, std::string name, std::int64_t lines_before,
             const LineReaderOptions& options = {});

  /// Reads the next line. Returns false, with an empty `line`, at the end of the file.
  bool next(std::string& line);

  /// Returns the number of the line that was read last, counted from 1.
  std::int64_t line_number() const { return line_number_; }

  /// Returns how many bytes of the source the lines so far occupy, with a byte order mark.
  std::int64_t offset() const { return bytes_read_ - static_cast<std::int64_t>(end_ - begin_); }

  /// Returns whether the line that was read last was cut.
  bool was_cut() const { return was_cut_; }

  const LineRepairs& repairs() const { return repairs_; }

  /// Returns the name of the file for messages.
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

/// Throws Error, beginning with `caller`, unless the line that `reader` returned last is UTF-8.
void check_utf8(const LineReader& reader, std::string_view line, std::string_view caller);

/// Returns the nonempty lines of a file. Throws Error, beginning with `caller`, if there are none, and for a line that
/// is not UTF-8.
std::vector<std::string> read_sentences(const std::string& path, std::string_view caller);

}  // namespace edgewise
