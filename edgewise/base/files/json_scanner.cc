// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/files/json_scanner.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <unordered_set>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

constexpr int kMaxDepth = 4;
constexpr std::size_t kMaxKeysOfObject = 200'000;
constexpr std::string_view kValueStarts = "{[\"tfn-0123456789";
constexpr std::string_view kNumberStarts = "-0123456789";
constexpr std::string_view kCut = "; the text was cut, copy it again";

/// Numbers need no quotes, but untrusted ones may be long.
std::string shorten(std::string_view number) {
  constexpr std::size_t kLongest = 40;
  return number.size() > kLongest ? std::string(number.substr(0, kLongest)) + "…" : std::string(number);
}

std::string describe(char first, std::string_view number) {
  if (first == '{') return "an object";
  if (first == '[') return "a list";
  if (first == '"') return "a string";
  if (first == 't' || first == 'f') return "true or false";
  if (first == 'n') return "null";
  if (!number.empty()) return shorten(number);
  return quote({&first, 1});
}

/// Removes digits from the front. Returns whether there were any.
bool remove_digits(std::string_view& text) {
  const std::size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(count);
  return count > 0;
}

/// Removes the first character if it is in `any_of`.
bool remove(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text[0]) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

bool is_number(std::string_view text) {
  remove(text, "-");
  if (!remove(text, "0") && !remove_digits(text)) return false;
  if (remove(text, ".") && !remove_digits(text)) return false;
  if (remove(text, "eE")) {
    remove(text, "+-");
    if (!remove_digits(text)) return false;
  }
  return text.empty();
}

}  // namespace

JsonScanner::JsonScanner(std::string_view text, std::string where, std::size_t first_byte)
    : text_(text), where_(std::move(where)), first_byte_(first_byte) {
  if (const auto bad = find_bad_utf8(text)) {
    position_ = *bad;
    if (is_cut_code_point(text, *bad))
      fail_here(fmt::format("the text ends inside a character, needs its other bytes{}", kCut));
    fail_here("the text is not UTF-8, needs to be");
  }
}

JsonKind JsonScanner::next_kind(std::string_view what) {
  begin_value(kValueStarts, what, "a value of JSON");
  const char first = text_[position_];
  if (first == '{') return JsonKind::kObject;
  if (first == '[') return JsonKind::kArray;
  if (first == '"') return JsonKind::kString;
  if (first == 't' || first == 'f') return JsonKind::kBoolean;
  return first == 'n' ? JsonKind::kNull : JsonKind::kNumber;
}

void JsonScanner::read_object(std::string_view what, const std::function<void(const std::string& key)>& member) {
  begin_value("{", what, "an object");
  ++position_;
  if (consume('}')) return;
  std::unordered_set<std::string> keys;
  do {
    begin_value("\"", "a key", "a string");
    const auto [key, is_new] = keys.insert(read_string_body());
    if (!is_new) fail_at_value(fmt::format("{} is there twice, needs to be there once", quote(*key)));
    check_value(keys.size() <= kMaxKeysOfObject, "{1} has more than {0} keys, needs at most {0}", kMaxKeysOfObject,
                what);
    if (!consume(':')) fail_for_need("a colon");
    member(*key);
  } while (consume(','));
  if (!consume('}')) fail_for_need("a comma or a closing brace");
}

void JsonScanner::read_array(std::string_view what, const std::function<void()>& element) {
  begin_value("[", what, "a list");
  ++position_;
  if (consume(']')) return;
  do {
    element();
  } while (consume(','));
  if (!consume(']')) fail_for_need("a comma or a closing bracket");
}

std::string JsonScanner::read_string(std::string_view what) {
  begin_value("\"", what, "a string");
  return read_string_body();
}

std::uint64_t JsonScanner::read_whole_number(std::string_view what) {
  begin_value(kNumberStarts, what, "a whole number");
  const std::string_view digits = read_number_text();
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool has_leading_zero = digits.size() > 1 && digits[0] == '0';
  if (error != std::errc() || end != digits.data() + digits.size() || has_leading_zero) {
    fail_at_value(fmt::format("{} is {}, needs a whole number from 0 to 18446744073709551615{}", what,
                              describe(digits[0], digits), advice_on_number()));
  }
  return number;
}

bool JsonScanner::read_boolean(std::string_view what) {
  begin_value("tf", what, "true or false");
  const bool value = text_[position_] == 't';
  skip_word(value ? "true" : "false");
  return value;
}

double JsonScanner::read_number(std::string_view what) {
  begin_value("n-0123456789", what, "a number");
  if (text_[position_] == 'n') {
    skip_word("null");
    return std::numeric_limits<double>::quiet_NaN();
  }
  const std::string_view digits = read_number_text();
  double value = 0;
  const auto error = std::from_chars(digits.data(), digits.data() + digits.size(), value).ec;
  if (!is_number(digits) || error != std::errc()) {
    fail_at_value(fmt::format("{} is {}, needs a number that JSON writes and a double holds{}", what,
                              describe(digits[0], digits), advice_on_number()));
  }
  return value;
}

void JsonScanner::skip() { skip_nested(kMaxDepth); }

void JsonScanner::expect_end() {
  skip_space();
  if (position_ != text_.size()) fail_here("more text follows, needs to end here");
}

void JsonScanner::fail_at_value(std::string_view message) const {
  fail("{}, byte {}: {}", where_, first_byte_ + value_begin_, message);
}

void JsonScanner::fail_here(std::string_view message) const {
  fail("{}, byte {}: {}", where_, first_byte_ + position_, message);
}

/// Reports that the text has something else than `needs` at the present position.
void JsonScanner::fail_for_need(std::string_view needs) const {
  if (position_ == text_.size()) fail_here(fmt::format("the text ends, needs {}{}", needs, kCut));
  const CodePoint point = code_point_at(text_, position_);  // the constructor has checked the text
  fail_here(fmt::format("the text has {}, needs {}", quote(text_.substr(position_, point.size)), needs));
}

/// Returns what to do about an invalid number before the present position: nothing unless the text was cut in it.
std::string_view JsonScanner::advice_on_number() const {
  constexpr std::string_view kBeforeDigits = "+-.eE";
  const bool is_cut = position_ == text_.size() && kBeforeDigits.find(text_.back()) != std::string_view::npos;
  return is_cut ? kCut : "";
}

void JsonScanner::skip_space() { position_ = std::min(text_.find_first_not_of(" \t\r\n", position_), text_.size()); }

/// Skips white space, and the next character if it is `expected`.
bool JsonScanner::consume(char expected) {
  skip_space();
  if (position_ == text_.size() || text_[position_] != expected) return false;
  ++position_;
  return true;
}

void JsonScanner::begin_value(std::string_view starts, std::string_view what, std::string_view needs) {
  skip_space();
  value_begin_ = position_;
  if (position_ == text_.size()) fail_here(fmt::format("{} is missing, needs {}{}", what, needs, kCut));
  const char first = text_[position_];
  if (starts.find(first) != std::string_view::npos) return;
  const std::string_view number = kNumberStarts.find(first) != std::string_view::npos ? read_number_text() : "";
  fail_at_value(fmt::format("{} is {}, needs {}", what, describe(first, number), needs));
}

std::string_view JsonScanner::read_number_text() {
  const std::size_t end = std::min(text_.find_first_not_of("+-.0123456789eE", position_), text_.size());
  const std::string_view number = text_.substr(position_, end - position_);
  position_ = end;
  return number;
}

std::string JsonScanner::read_string_body() {
  std::string result;
  for (++position_; position_ < text_.size(); ++position_) {
    const char next = text_[position_];
    if (next == '"') {
      ++position_;
      return result;
    }
    if (static_cast<unsigned char>(next) < 0x20) fail_here("a control character is in a string, needs an escape");
    if (next == '\\') {
      append_escape(result);
    } else {
      result += next;
    }
  }
  fail_at_value(fmt::format("a string is not closed, needs a quote at its end{}", kCut));
}

/// Starts at the backslash and ends at the last character of the escape.
void JsonScanner::append_escape(std::string& text) {
  constexpr std::string_view kLetters = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  ++position_;
  const char letter = position_ < text_.size() ? text_[position_] : '\0';
  const auto index = kLetters.find(letter);
  if (index != std::string_view::npos) {
    text += kMeanings[index];
  } else if (letter == 'u') {
    append_utf8(text, read_code_point_escape());
  } else {
    fail_for_need("one of \"\\/bfnrtu after a backslash");
  }
}

/// Starts at the "u" and ends at the last digit of the escape.
std::uint32_t JsonScanner::read_code_point_escape() {
  const std::uint32_t first = read_hex4();
  if (first < 0xD800 || first > 0xDFFF) return first;
  if (first < 0xDC00 && text_.substr(position_ + 1, 2) == "\\u") {
    position_ += 2;
    const std::uint32_t second = read_hex4();
    if (second >= 0xDC00 && second <= 0xDFFF) return 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
  }
  fail_here("a surrogate stands alone, needs its pair");
}

std::uint32_t JsonScanner::read_hex4() {
  const std::string_view digits = text_.substr(position_ + 1, 4);
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  const bool is_cut = digits.size() < 4 && end == digits.data() + digits.size();
  if (error != std::errc() || digits.size() != 4 || end != digits.data() + 4) {
    fail_here(
        fmt::format("the text has {} after \\u, needs four hexadecimal digits{}", quote(digits), is_cut ? kCut : ""));
  }
  position_ += 4;
  return value;
}

void JsonScanner::skip_nested(int depth) {
  if (depth == 0) fail_here(fmt::format("values are nested too deep, needs at most {} levels", kMaxDepth));
  begin_value(kValueStarts, "a value", "one of JSON");
  const auto rest = [this, depth](const auto&...) { skip_nested(depth - 1); };
  const char first = text_[position_];
  if (first == '{') return read_object("a value", rest);
  if (first == '[') return read_array("a value", rest);
  if (first == '"') return static_cast<void>(read_string_body());
  if (first == 't') return skip_word("true");
  if (first == 'f') return skip_word("false");
  if (first == 'n') return skip_word("null");
  const std::string_view number = read_number_text();
  if (!is_number(number)) {
    fail_at_value(
        fmt::format("a number is {}, needs the form of JSON, such as -1.5e3{}", shorten(number), advice_on_number()));
  }
}

void JsonScanner::skip_word(std::string_view word) {
  if (text_.substr(position_, word.size()) != word) {
    if (word.starts_with(text_.substr(position_))) position_ = text_.size();  // the text was cut in the word
    fail_for_need(word);
  }
  position_ += word.size();
}

}  // namespace edgewise
