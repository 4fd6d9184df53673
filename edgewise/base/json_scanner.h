// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace edgewise {

/// Reads JSON (RFC 8259) from outside, value by value, for a caller that knows what it wants: no tree, no conversions,
/// and what the text nests costs no stack. Two equal keys in one object, bytes that are not UTF-8 and lone surrogates
/// are errors.
///
///     JsonScanner json(text, "open_model: run/manifest.json");
///     json.object("the manifest", [&](const std::string& key) {
///       key == "format" ? format = json.whole_number("format") : json.skip();
///     });
///     json.end();
///
/// An error begins with `where` and the number of the byte, counted from `first_byte`; `what` is the name of the value.
class JsonScanner {
 public:
  /// The text must outlive the scanner.
  JsonScanner(std::string_view text, std::string where, std::size_t first_byte = 0);

  /// Calls `member` with each key; it must read the value.
  void object(std::string_view what, const std::function<void(const std::string& key)>& member);

  /// Calls `element` for each element; it must read it.
  void array(std::string_view what, const std::function<void()>& element);

  std::string string(std::string_view what);

  /// From 0 to 2^64 - 1, in digits alone: neither 2.0 nor 1e3.
  std::uint64_t whole_number(std::string_view what);

  /// Any number, as the nearest double; null is NaN, as json_number writes it.
  double number(std::string_view what);

  /// Passes over any value that nests at most four deep.
  void skip();

  /// Throws unless only white space is left.
  void end();

  /// Throws `<where>, byte <n>: <message>`, at the value begun last.
  [[noreturn]] void fail_at_value(std::string_view message) const;

 private:
  void skip_space();
  bool consume(char expected);
  void begin_value(std::string_view starts, std::string_view what, std::string_view needs);
  std::string_view number_text();
  std::string string_body();
  void append_escape(std::string& text);
  std::uint32_t escaped_code_point();
  std::uint32_t hex4();
  void skip_nested(int depth);
  void skip_word(std::string_view word);
  [[noreturn]] void fail_here(std::string_view message) const;

  std::string_view text_;
  std::string where_;
  std::size_t first_byte_;
  std::size_t position_ = 0;
  std::size_t value_begin_ = 0;
};

}  // namespace edgewise
