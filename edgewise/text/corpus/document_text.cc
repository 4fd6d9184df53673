// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/corpus/document_text.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/random.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

constexpr std::int64_t kMaxCodePointBytes = 4;

/// Reads `count` bytes from an offset, or less at the end of the file.
std::string read_some(const SeekableFile& file, std::int64_t offset, std::int64_t count) {
  std::string bytes(static_cast<std::size_t>(count), '\0');
  const auto source = file.from(offset);
  std::size_t size = 0;
  while (size < bytes.size()) {
    const std::size_t more = source->read(std::span(bytes).subspan(size));
    if (more == 0) break;
    size += more;
  }
  bytes.resize(size);
  return bytes;
}

/// Returns how many bytes at the end belong to a code point that the text cuts.
std::int64_t count_cut_bytes(std::string_view text) {
  for (std::size_t size = 1; size < std::min<std::size_t>(kMaxCodePointBytes, text.size() + 1); ++size) {
    if (is_cut_code_point(text, text.size() - size)) return static_cast<std::int64_t>(size);
  }
  return 0;
}

std::uint64_t hash_of(std::string_view bytes) {
  TextHash hash;
  hash.add(bytes);
  return hash.value();
}

/// Calls `visit` with each line, with its line feed if it has one.
void for_each_line(std::string_view text, auto&& visit) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::size_t size = end == std::string_view::npos ? text.size() : end + 1;
    visit(text.substr(0, size));
    text.remove_prefix(size);
  }
}

std::string_view without_end(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

void check_byte_order(const FileRange& range, const DocumentOptions& options) {
  using namespace std::string_view_literals;
  if (options.is_bytes) return;
  const std::string start = read_some(*range.file, 0, 2);
  check(start != "\xFF\xFE"sv && start != "\xFE\xFF"sv,
        "{}: {} begins with the byte order mark of UTF-16 or UTF-32, needs UTF-8; convert it with iconv",
        options.caller, range.file->name());
}

}  // namespace

FileRange whole_file(std::shared_ptr<const SeekableFile> file) {
  const std::int64_t size = file->size();
  return {.file = std::move(file), .begin = 0, .end = size};
}

std::pair<FileRange, FileRange> cut_file(const std::shared_ptr<const SeekableFile>& file, double first, bool is_bytes) {
  const std::int64_t size = file->size();
  auto cut = static_cast<std::int64_t>(first * static_cast<double>(size));
  if (!is_bytes) {
    const std::int64_t before = std::min(cut, kMaxCodePointBytes);
    cut -= count_cut_bytes(read_some(*file, cut - before, before));
  }
  return {{.file = file, .begin = 0, .end = cut, .ends_document = false}, {.file = file, .begin = cut, .end = size}};
}

DocumentText::DocumentText(std::vector<FileRange> ranges, const DocumentOptions& options)
    : ranges_(std::move(ranges)), options_(options) {
  check(options.block_bytes >= 2 * kMaxCodePointBytes, "{}: block_bytes is {}, needs at least {}", options.caller,
        options.block_bytes, 2 * kMaxCodePointBytes);
  for (std::size_t range = 0; range < ranges_.size(); ++range) index_range(range);
  check(report_.documents > 0, "{}: {} has no text, needs some", options.caller,
        ranges_.empty() ? "the list of files" : ranges_.front().file->name());
}

/// Cuts a range into blocks. A block ends with its last whole line or, if it has none, between two code points.
void DocumentText::index_range(std::size_t number) {
  const FileRange& range = ranges_[number];
  check_byte_order(range, options_);
  Block block{.range = number, .offset = range.begin, .begins = true};
  while (block.offset < range.end) {
    block.bytes = std::min(options_.block_bytes, range.end - block.offset);
    std::string bytes = read_bytes(block);
    if (block.offset + block.bytes < range.end) {
      const std::size_t line_feed = bytes.rfind('\n');
      const std::int64_t cut = options_.is_bytes ? 0 : count_cut_bytes(bytes);
      block.bytes = line_feed != std::string::npos ? static_cast<std::int64_t>(line_feed) + 1 : block.bytes - cut;
      bytes.resize(static_cast<std::size_t>(block.bytes));
    }
    block.ends = range.ends_document && block.offset + block.bytes == range.end;
    block.hash = hash_of(bytes);
    const std::vector<Passage> passages = split(block, bytes, report_);
    blocks_.push_back(block);
    report_.bytes += block.bytes;
    fingerprint_ = mix(mix(fingerprint_, block.hash), block.begins ? 1 : 0);
    block.lines_before += std::ranges::count(bytes, '\n');
    block.offset += block.bytes;
    block.begins = passages.empty() ? block.begins : passages.back().ends;
  }
  fingerprint_ = mix(fingerprint_, mix(hash_of(options_.separator), range.ends_document ? 1 : 0));
}

std::string DocumentText::read_bytes(const Block& block) const {
  const FileRange& range = ranges_[block.range];
  std::string bytes = read_some(*range.file, block.offset, block.bytes);
  check(
      std::ssize(bytes) == block.bytes,
      "{}: {} ends at byte {}, needs the {} bytes that it had; a text must stay as it is while a model learns from it",
      options_.caller, range.file->name(), block.offset + std::ssize(bytes), range.end);
  return bytes;
}

std::vector<Passage> DocumentText::read(std::int64_t number) const {
  const Block& block = blocks_[static_cast<std::size_t>(number)];
  const std::string bytes = read_bytes(block);
  check(hash_of(bytes) == block.hash,
        "{}: {} has other text from line {} on than when it was first read, needs a text that stays as it is while a "
        "model learns from it",
        options_.caller, ranges_[block.range].file->name(), block.lines_before + 1);
  DocumentReport unused;
  return split(block, bytes, unused);
}

/// Splits the bytes of a block at separators, and counts the documents that begin in the block. Documents without text
/// are left out.
std::vector<Passage> DocumentText::split(const Block& block, std::string_view bytes, DocumentReport& report) const {
  std::vector<Passage> passages = {{.text = {}, .begins = block.begins}};
  std::int64_t number = block.lines_before;
  for_each_line(bytes, [&](std::string_view line) {
    ++number;
    if (!options_.separator.empty() && without_end(line) == options_.separator) {
      passages.back().ends = true;
      passages.push_back({.text = {}, .begins = true});
      return;
    }
    std::string own(line);
    if (!options_.is_bytes && find_bad_utf8(line) && !repair(own, block, number, report)) return;
    ++report.lines;
    passages.back().text += own;
  });
  passages.back().ends = block.ends;
  // A document whose text begins in the next block begins there.
  std::erase_if(passages, [](const Passage& passage) { return passage.begins && passage.text.empty(); });
  report.documents += std::ranges::count(passages, true, &Passage::begins);
  return passages;
}

/// Treats a line that is not UTF-8 as the options say. Returns whether the line stays.
bool DocumentText::repair(std::string& line, const Block& block, std::int64_t number, DocumentReport& report) const {
  constexpr std::size_t kMostPlaces = 5;
  const std::string place = fmt::format("{}:{} has a byte at {} that is not UTF-8", ranges_[block.range].file->name(),
                                        number, find_bad_utf8(line).value_or(0));
  check(options_.bad_utf8 != BadUtf8::kError, "{}: {}, needs UTF-8", options_.caller, place);
  if (report.first_bad.size() < kMostPlaces) report.first_bad.push_back(place);
  const bool stays = options_.bad_utf8 == BadUtf8::kReplace;
  ++(stays ? report.replaced : report.skipped);
  if (stays) line = replace_bad_utf8(line);
  return stays;
}

std::vector<std::string> sample_lines(const DocumentText& text, std::int64_t max_lines) {
  std::vector<std::string> lines;
  const std::int64_t all = text.report().lines;
  const std::int64_t wanted = max_lines == 0 ? all : std::min(max_lines, all);
  std::int64_t number = 0;
  for (std::int64_t block = 0; block < text.num_blocks(); ++block) {
    for (const Passage& passage : text.read(block)) {
      for_each_line(passage.text, [&](std::string_view line) {
        if ((number + 1) * wanted / all != number * wanted / all) lines.emplace_back(line);
        ++number;
      });
    }
  }
  return lines;
}

}  // namespace edgewise
