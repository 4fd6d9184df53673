// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/corpus/parallel_text.h"

#include <algorithm>

#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/unicode.h"

namespace edgewise {
namespace {

constexpr std::size_t kMaxListed = 5;
constexpr const char* kCaller = "read_pairs";

std::int64_t count_rest(LineReader& reader) {
  std::string line;
  while (reader.next(line)) {
  }
  return reader.line_number();
}

}  // namespace

std::string describe_counts(std::string_view noun,
                            const std::vector<std::pair<std::int64_t, std::string_view>>& counts) {
  std::string words;
  for (const auto& [count, what] : counts) {
    if (count == 0) continue;
    words += words.empty() ? fmt::format("{} {}{} {}", count, noun, count == 1 ? "" : "s", what)
                           : fmt::format(", {} {}", count, what);
  }
  return words;
}

std::string PairReport::describe_skipped() const {
  return describe_counts("pair", {{empty, "with an empty side"},
                                  {bad_utf8, "with bad UTF-8"},
                                  {nul_bytes, "with a NUL byte"},
                                  {too_long, "with a line that is too long"},
                                  {identical, "with the same text on both sides"}});
}

std::string PairReport::describe_repairs() const {
  std::string words;
  for (const std::string& part : {describe_counts("line", {{carriage_returns, "ended with CR LF"}}),
                                  describe_counts("file", {{byte_order_marks, "began with a byte order mark"}}),
                                  describe_counts("sentence", {{replaced, "had bad UTF-8, now U+FFFD"}})}) {
    if (!words.empty() && !part.empty()) words += ", ";
    words += part;
  }
  return words;
}

std::string PairReport::describe_doubts() const {
  std::string words;
  const auto doubt = [&](std::int64_t count, std::int64_t all, std::string_view what) {
    words += fmt::format("{}{} of {} pairs have {}", words.empty() ? "" : ", ", count, all, what);
  };
  const std::int64_t all = kept + num_skipped();
  if (kept_identical > kept / 2) doubt(kept_identical, kept, "the same text on both sides; is it one file twice?");
  if (nul_bytes > all / 100) doubt(nul_bytes, all, "a NUL byte; is it a binary file?");
  return words;
}

/// The reason why a pair is not usable: a counter of PairReport and a text with file and line.
struct PairReader::Fault {
  std::int64_t PairReport::*count = nullptr;
  std::string text;
};

void check_num_files(std::size_t count) {
  check(count == 1 || count == 2, "{}: files has {} names, needs one TSV file, or two files with a sentence a line",
        kCaller, count);
}

LineReaderOptions line_options(const PairOptions& options) {
  return {.max_line_bytes = options.max_line_bytes, .long_lines = LongLines::kCut, .caller = kCaller};
}

PairReader::PairReader(std::vector<LineReader> readers, const PairOptions& options)
    : readers_(std::move(readers)), options_(options) {
  if (options.has_links) {
    check(!readers_.empty(), "{}: files are none, needs a file of links behind those of the pairs", kCaller);
    link_reader_.emplace(std::move(readers_.back()));
    readers_.pop_back();
  }
  check_num_files(readers_.size());
}

std::string PairReader::name() const {
  return readers_.size() == 1 ? readers_[0].path() : fmt::format("{} with {}", readers_[0].path(), readers_[1].path());
}

std::vector<std::int64_t> PairReader::offsets() const {
  std::vector<std::int64_t> offsets;
  for (const LineReader& reader : readers_) offsets.push_back(reader.offset());
  if (link_reader_) offsets.push_back(link_reader_->offset());
  return offsets;
}

PairReport PairReader::report() const {
  PairReport report = report_;
  for (const LineReader& reader : readers_) {
    report.carriage_returns += reader.repairs().carriage_returns;
    report.byte_order_marks += reader.repairs().byte_order_mark ? 1 : 0;
  }
  return report;
}

bool PairReader::next() {
  const bool has_pair = readers_.size() == 1 ? read_tsv_line() : read_lines();
  if (link_reader_) read_link_line(has_pair);
  if (!has_pair) return false;
  Fault fault;
  is_usable_ = !find_faults(fault);
  if (is_usable_) {
    ++report_.kept;
    if (input_ == output_) ++report_.kept_identical;
    if (link_reader_) parse_links();
  } else {
    skip(fault);
  }
  return true;
}

bool PairReader::read_lines() {
  LineReader& inputs = readers_[0];
  LineReader& outputs = readers_[1];
  const bool has_input = inputs.next(input_);
  const bool has_output = outputs.next(output_);
  if (has_input != has_output) {
    fail("{}: {} has {} lines and {} has {}; the two files of a pair need one line each per pair", kCaller,
         inputs.path(), count_rest(inputs), outputs.path(), count_rest(outputs));
  }
  return has_input;
}

bool PairReader::read_tsv_line() {
  LineReader& reader = readers_[0];
  if (!reader.next(input_)) return false;
  const auto fields = std::ranges::count(input_, '\t') + 1;
  check(fields == 2 || reader.was_cut() || input_.empty(), "{}: {}:{} has {} {}, needs 2 (input TAB output)", kCaller,
        reader.path(), reader.line_number(), fields, fields == 1 ? "field" : "fields");
  const std::size_t tab = std::min(input_.find('\t'), input_.size());
  output_ = input_.substr(std::min(tab + 1, input_.size()));
  input_.resize(tab);
  return true;
}

/// Checks one side of a pair. Replaces invalid UTF-8 if the options require it.
bool PairReader::find_fault(std::string& text, std::size_t side, Fault& fault) {
  const LineReader& reader = readers_[std::min(side, readers_.size() - 1)];
  const auto set_fault = [&](std::int64_t PairReport::*count, std::string_view what) {
    fault = {count, fmt::format("{}:{} {}", reader.path(), reader.line_number(), what)};
    return true;
  };
  if (reader.was_cut()) {
    return set_fault(&PairReport::too_long, fmt::format("has more than {} bytes", options_.max_line_bytes));
  }
  if (const auto bad = find_bad_utf8(text)) {
    if (options_.bad_utf8 != BadUtf8::kReplace) {
      return set_fault(&PairReport::bad_utf8,
                       fmt::format("has bytes that are not UTF-8, the first after {} bytes", *bad));
    }
    text = replace_bad_utf8(text);
    ++report_.replaced;
  }
  if (const auto nul = text.find('\0'); nul != std::string::npos) {
    return set_fault(&PairReport::nul_bytes, fmt::format("has a NUL byte after {} bytes", nul));
  }
  if (strip_trailing_space(text).empty()) return set_fault(&PairReport::empty, "is empty");
  return false;
}

bool PairReader::find_faults(Fault& fault) {
  if (find_fault(input_, 0, fault) || find_fault(output_, 1, fault)) return true;
  if (options_.same_sides == SameSides::kKeep || input_ != output_) return false;
  fault = {&PairReport::identical,
           fmt::format("{}:{} has the same text on both sides", readers_[0].path(), readers_[0].line_number())};
  return true;
}

void PairReader::skip(const Fault& fault) {
  const bool is_bad_utf8 = fault.count == &PairReport::bad_utf8;
  check(options_.bad_pairs == BadPairs::kSkip, "{}: {}, needs a sentence; only training leaves such pairs out", kCaller,
        fault.text);
  check(!is_bad_utf8 || options_.bad_utf8 == BadUtf8::kSkip, "{}: {}, needs UTF-8, as data.bad_utf8 says", kCaller,
        fault.text);
  ++(report_.*fault.count);
  if (report_.first_skipped.size() < kMaxListed) report_.first_skipped.push_back(fault.text);
}

void PairReader::read_link_line(bool has_pair) {
  const bool has_links = link_reader_->next(link_line_);
  if (has_links == has_pair) return;
  LineReader& reader = readers_.front();
  fail("{}: {} has {} lines and {} has {}; a file of links needs one line for each pair", kCaller, reader.path(),
       count_rest(reader), link_reader_->path(), count_rest(*link_reader_));
}

void PairReader::parse_links() {
  const std::string place = fmt::format("{}: {}:{}", kCaller, link_reader_->path(), link_reader_->line_number());
  check(!link_reader_->was_cut(), "{} has more than {} bytes, needs fewer", place, options_.max_line_bytes);
  links_ = parse_gold_alignment(link_line_, /*first=*/0, place).possible;
  const std::ptrdiff_t inputs = std::ssize(split_words(input_));
  const std::ptrdiff_t outputs = std::ssize(split_words(output_));
  for (const auto& [input, output] : links_) {
    check(input < inputs && output < outputs, "{} has {}-{}, needs links of the pair's {} and {} words, counted from 0",
          place, input, output, inputs, outputs);
  }
}

SentencePairs read_pairs(std::span<const std::string> files, const PairOptions& options) {
  check_num_files(files.size() - (options.has_links && !files.empty() ? 1 : 0));
  std::vector<LineReader> readers;
  for (const std::string& file : files) readers.emplace_back(file, line_options(options));
  PairReader reader(std::move(readers), options);
  SentencePairs pairs;
  while (reader.next()) {
    if (!reader.is_usable()) continue;
    pairs.inputs.push_back(reader.input());
    pairs.outputs.push_back(reader.output());
    if (options.has_links) pairs.links.push_back(reader.links());
  }
  pairs.report = reader.report();
  check_pairs_left(pairs.report, reader.name());
  return pairs;
}

void check_pairs_left(const PairReport& report, const std::string& name) {
  const std::string skipped = report.describe_skipped();
  check(report.kept > 0, "read_pairs: {} has no usable pair{}, needs at least one", name,
        skipped.empty() ? "" : fmt::format(" ({} left out)", skipped));
}

}  // namespace edgewise
