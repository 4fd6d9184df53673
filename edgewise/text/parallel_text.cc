// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/parallel_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/unicode.h"

namespace edgewise {
namespace {

constexpr std::size_t kMostPlaces = 5;
constexpr const char* kCaller = "read_pairs";

/// One side of a pair, and where it is.
struct Side {
  std::string_view text;
  std::string_view path;
  std::int64_t line = 0;
  bool was_cut = false;
};

/// What is wrong with a side: which count of the account it belongs to, and how a place is told.
struct Fault {
  std::int64_t PairAccount::*count;
  std::string text;
};

bool is_blank(std::string_view text) { return without_trailing_space(text).empty(); }

std::optional<Fault> fault_of(const Side& side, const PairOptions& options) {
  auto fault = [&](std::int64_t PairAccount::*count, std::string_view what) {
    return Fault{count, fmt::format("{}:{} {}", side.path, side.line, what)};
  };
  if (side.was_cut) {
    return fault(&PairAccount::too_long, fmt::format("has more than {} bytes", options.max_line_bytes));
  }
  if (const auto bad = find_bad_utf8(side.text)) {
    return fault(&PairAccount::bad_utf8, fmt::format("has bytes that are not UTF-8, the first after {} bytes", *bad));
  }
  if (const auto nul = side.text.find('\0'); nul != std::string_view::npos) {
    return fault(&PairAccount::nul_bytes, fmt::format("has a NUL byte after {} bytes", nul));
  }
  if (is_blank(side.text)) return fault(&PairAccount::empty, "is empty");
  return std::nullopt;
}

/// Takes pairs in and sorts out the bad ones.
class Collector {
 public:
  explicit Collector(const PairOptions& options) : options_(options) {}

  void add(const Side& input, const Side& output) {
    auto fault = fault_of(input, options_);
    if (!fault) fault = fault_of(output, options_);
    if (fault) {
      leave_out(*fault);
    } else {
      pairs_.inputs.emplace_back(input.text);
      pairs_.outputs.emplace_back(output.text);
    }
  }

  void add_repairs(const LineRepairs& repairs) {
    pairs_.account.carriage_returns += repairs.carriage_returns;
    pairs_.account.byte_order_marks += repairs.byte_order_mark ? 1 : 0;
  }

  SentencePairs finish(std::string_view files) && {
    PairAccount& account = pairs_.account;
    account.kept = static_cast<std::int64_t>(pairs_.size());
    const std::string skipped = account.skipped_in_words();
    check(account.kept > 0, "{}: {} has no usable pair{}, needs at least one", kCaller, files,
          skipped.empty() ? "" : fmt::format(" ({} left out)", skipped));
    return std::move(pairs_);
  }

 private:
  void leave_out(const Fault& fault) {
    check(options_.bad_pairs == BadPairs::kSkip, "{}: {}, needs a sentence; only training leaves such pairs out",
          kCaller, fault.text);
    ++(pairs_.account.*fault.count);
    if (pairs_.account.places.size() < kMostPlaces) pairs_.account.places.push_back(fault.text);
  }

  PairOptions options_;
  SentencePairs pairs_;
};

LineReaderOptions reader_options(const PairOptions& options) {
  return {.max_line_bytes = options.max_line_bytes, .long_lines = LongLines::kCut, .caller = kCaller};
}

std::int64_t count_rest(LineReader& reader) {
  std::string line;
  while (reader.next(line)) {
  }
  return reader.line_number();
}

SentencePairs read_two_files(const std::string& input_path, const std::string& output_path,
                             const PairOptions& options) {
  LineReader input_reader(input_path, reader_options(options));
  LineReader output_reader(output_path, reader_options(options));
  Collector collector(options);
  std::string input;
  std::string output;
  while (true) {
    const bool has_input = input_reader.next(input);
    const bool has_output = output_reader.next(output);
    if (has_input != has_output) {
      fail("{}: {} has {} lines and {} has {}; the two files of a pair need one line each per pair", kCaller,
           input_reader.path(), count_rest(input_reader), output_reader.path(), count_rest(output_reader));
    }
    if (!has_input) break;
    collector.add({input, input_reader.path(), input_reader.line_number(), input_reader.was_cut()},
                  {output, output_reader.path(), output_reader.line_number(), output_reader.was_cut()});
  }
  collector.add_repairs(input_reader.repairs());
  collector.add_repairs(output_reader.repairs());
  return std::move(collector).finish(fmt::format("{} with {}", input_reader.path(), output_reader.path()));
}

SentencePairs read_tsv(const std::string& path, const PairOptions& options) {
  LineReader reader(path, reader_options(options));
  Collector collector(options);
  std::string line;
  while (reader.next(line)) {
    const std::string_view text = line;
    const auto tab = std::min(text.find('\t'), text.size());
    const auto fields = std::count(text.begin(), text.end(), '\t') + 1;
    check(fields == 2 || reader.was_cut() || text.empty(), "{}: {}:{} has {} {}, needs 2 (input TAB output)", kCaller,
          reader.path(), reader.line_number(), fields, fields == 1 ? "field" : "fields");
    const Side whole = {text, reader.path(), reader.line_number(), reader.was_cut()};
    Side input = whole;
    Side output = whole;
    input.text = text.substr(0, tab);
    output.text = text.substr(std::min(tab + 1, text.size()));
    collector.add(input, output);
  }
  collector.add_repairs(reader.repairs());
  return std::move(collector).finish(reader.path());
}

}  // namespace

std::string PairAccount::skipped_in_words() const {
  std::string words;
  auto tell = [&words](std::int64_t count, std::string_view what) {
    if (count == 0) return;
    const std::string_view noun = !words.empty() ? "" : count == 1 ? " pair" : " pairs";
    words += fmt::format("{}{}{} with {}", words.empty() ? "" : ", ", count, noun, what);
  };
  tell(empty, "an empty side");
  tell(bad_utf8, "bad UTF-8");
  tell(nul_bytes, "a NUL byte");
  tell(too_long, "a line that is too long");
  return words;
}

SentencePairs read_pairs(std::span<const std::string> files, const PairOptions& options) {
  check(files.size() == 1 || files.size() == 2,
        "{}: files has {} names, needs one TSV file, or two files with a sentence a line", kCaller, files.size());
  return files.size() == 1 ? read_tsv(files[0], options) : read_two_files(files[0], files[1], options);
}

}  // namespace edgewise
