// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace edgewise {

/// Reads JSON (RFC 8259) from outside, value by value, by a caller that knows what it wants: no tree, no recursion on
/// what the text nests, no conversion. Two equal keys in one object, invalid UTF-8 and lone surrogates are errors:
///
///     JsonScanner json(text, "open_model: run/manifest.json", /*first_byte=*/0);
///     json.object([&](const std::string& key) { key == "format" ? format = json.whole_number() : json.skip(); });
///     json.end();
///
/// Errors begin with `where` and the number of the byte, counted from `first_byte`.
class JsonScanner {
 public:
  /// The text must outlive the scanner.
  JsonScanner(std::string_view text, std::string where, std::size_t first_byte);

  /// Calls `member` with each key; it reads the value. `what` is what an error says was needed.
  void object(std::string_view what, const std::function<void(const std::string& key)>& member);

  /// Calls `element` before each element; it reads it.
  void array(std::string_view what, const std::function<void()>& element);

  std::string string(std::string_view what);

  /// From 0 to 2^64 - 1, written in digits alone.
  std::uint64_t whole_number(std::string_view what);

  /// Passes over any value, nested up to four deep.
  void skip();

  /// Throws unless only white space is left.
  void end();

  /// Throws an error at the last value that was begun.
  [[noreturn]] void fail_at_value(std::string_view message) const;

 private:
  void skip_space();
  bool consume(char expected);
  void expect_value(bool is_next, std::string_view what);
  std::uint32_t hex4();
  std::uint32_t escaped_code_point();
  void append_escape(std::string& text);
  std::string string_body();
  void skip_nested(int depth);
  void skip_number();
  [[noreturn]] void fail_at(std::size_t position, std::string_view message) const;

  std::string_view text_;
  std::string where_;
  std::size_t first_byte_;
  std::size_t position_ = 0;
  std::size_t value_begin_ = 0;
};

}  // namespace edgewise
