// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/corpus/line_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

using namespace std::string_view_literals;

constexpr auto kUtf8Mark = "\xEF\xBB\xBF"sv;
constexpr std::size_t kMaxMarkBytes = 4;
constexpr std::size_t kMaxLineBytes = std::size_t{1} << 30;

struct ForeignMark {
  std::string_view bytes;
  std::string_view encoding;
};

// UTF-32LE stands before UTF-16LE, because its mark begins with the mark of UTF-16LE.
constexpr ForeignMark kForeignMarks[] = {{"\xFF\xFE\0\0"sv, "UTF-32LE"},
                                         {"\0\0\xFE\xFF"sv, "UTF-32BE"},
                                         {"\xFF\xFE"sv, "UTF-16LE"},
                                         {"\xFE\xFF"sv, "UTF-16BE"}};

/// Returns whether `start` is a proper prefix of a byte order mark. Only then the reader waits for more bytes, because
/// waiting would block on a short line from a terminal.
bool may_become_mark(std::string_view start) {
  const auto may_become = [&](std::string_view mark) { return start.size() < mark.size() && mark.starts_with(start); };
  return may_become(kUtf8Mark) ||
         std::ranges::any_of(kForeignMarks, [&](const ForeignMark& mark) { return may_become(mark.bytes); });
}

const LineReaderOptions& check_options(const LineReaderOptions& options) {
  check(options.max_line_bytes >= 1 && options.max_line_bytes <= kMaxLineBytes,
        "{}: max_line_bytes is {}, needs a number from 1 to {}", options.caller, options.max_line_bytes, kMaxLineBytes);
  check(options.chunk_size >= 1, "{}: chunk_size is 0, needs 1 or more", options.caller);
  return options;
}

}  // namespace

LineReader::LineReader(const std::string& path, const LineReaderOptions& options)
    : LineReader(open_source({path, options.caller, options.chunk_size, options.stop}), source_name(path), 0, options) {
}

LineReader::LineReader(std::unique_ptr<ByteSource> source, std::string name, std::int64_t lines_before,
                       const LineReaderOptions& options)
    : path_(std::move(name)),
      options_(check_options(options)),
      source_(std::move(source)),
      buffer_(std::max(options.chunk_size, kMaxMarkBytes)),
      line_number_(lines_before) {
  if (lines_before == 0) skip_byte_order_mark();
}

std::size_t LineReader::read_some(std::span<char> buffer) {
  const std::size_t count = source_->read(buffer);
  bytes_read_ += static_cast<std::int64_t>(count);
  return count;
}

void LineReader::skip_byte_order_mark() {
  while (may_become_mark({buffer_.data(), end_})) {
    const std::size_t count = read_some(std::span(buffer_).subspan(end_, kMaxMarkBytes - end_));
    if (count == 0) break;
    end_ += count;
  }
  const std::string_view start(buffer_.data(), end_);
  for (const ForeignMark& mark : kForeignMarks) {
    check(!start.starts_with(mark.bytes),
          "{}: {} begins with the byte order mark of {}, needs UTF-8; convert it with iconv -f {} -t UTF-8",
          options_.caller, path_, mark.encoding, mark.encoding);
  }
  if (start.starts_with(kUtf8Mark) && options_.line_ends == LineEnds::kRemove) {
    repairs_.byte_order_mark = true;
    begin_ = kUtf8Mark.size();
  }
}

bool LineReader::refill() {
  begin_ = 0;
  end_ = read_some(std::span(buffer_).first(options_.chunk_size));
  return end_ > 0;
}

bool LineReader::next(std::string& line) {
  line.clear();
  was_cut_ = false;
  bool has_bytes = false;
  while (begin_ < end_ || refill()) {
    if (!has_bytes) ++line_number_;
    has_bytes = true;
    const char* from = buffer_.data() + begin_;
    const auto* line_feed = static_cast<const char*>(std::memchr(from, '\n', end_ - begin_));
    const std::size_t size = line_feed != nullptr ? static_cast<std::size_t>(line_feed - from) : end_ - begin_;
    append(line, {from, size});
    begin_ += size + (line_feed != nullptr ? 1 : 0);
    if (line_feed != nullptr) {
      finish(line, true);
      return true;
    }
  }
  if (has_bytes) finish(line, false);
  return has_bytes;
}

/// Keeps one byte more than the limit, which may be the carriage return at the end of the line.
void LineReader::append(std::string& line, std::string_view piece) {
  const std::size_t space = options_.max_line_bytes + 1 - line.size();
  line.append(piece.substr(0, space));
  was_cut_ = was_cut_ || piece.size() > space;
}

void LineReader::finish(std::string& line, bool has_line_feed) {
  const bool is_kept = options_.line_ends == LineEnds::kKeep;
  if (has_line_feed && !was_cut_ && !is_kept && line.ends_with('\r')) {
    line.pop_back();
    ++repairs_.carriage_returns;
  }
  was_cut_ = was_cut_ || line.size() > options_.max_line_bytes;
  if (!was_cut_) {
    if (has_line_feed && is_kept) line += '\n';
    return;
  }
  check(options_.long_lines == LongLines::kCut, "{}: {}:{} has more than {} bytes in a line, needs at most {}",
        options_.caller, path_, line_number_, options_.max_line_bytes, options_.max_line_bytes);
  line.resize(utf8_prefix(line, options_.max_line_bytes).size());
  ++repairs_.long_lines;
}

void check_utf8(const LineReader& reader, std::string_view line, std::string_view caller) {
  const auto bad = find_bad_utf8(line);
  check(!bad, "{}: {}:{} has a byte at {} that is not UTF-8, needs UTF-8", caller, reader.path(), reader.line_number(),
        bad.value_or(0));
}

std::vector<std::string> read_sentences(const std::string& path, std::string_view caller) {
  LineReader reader(path, {.caller = std::string(caller)});
  std::vector<std::string> sentences;
  for (std::string line; reader.next(line);) {
    check_utf8(reader, line, caller);
    if (!line.empty()) sentences.push_back(line);
  }
  check(!sentences.empty(), "{}: {} has no sentence, needs at least one", caller, path);
  return sentences;
}

}  // namespace edgewise
