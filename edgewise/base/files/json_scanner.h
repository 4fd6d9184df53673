// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace edgewise {

enum class JsonKind { kObject, kArray, kString, kNumber, kBoolean, kNull };

/// Reads untrusted JSON (RFC 8259) value by value: the caller requests the type that its schema has at each position.
/// Builds no tree, and limits nesting, so that no input overflows the stack. Throws Error for two equal keys in one
/// object, bytes that are not UTF-8 and lone surrogates.
///
///     JsonScanner json(text, "load_model: run/manifest.json");
///     json.read_object("the manifest", [&](const std::string& key) {
///       key == "format" ? format = json.read_whole_number("format") : json.skip();
///     });
///     json.expect_end();
///
/// An error begins with `where` and the byte's number, counted from `first_byte`. `what` names the value in errors.
class JsonScanner {
 public:
  /// The text must outlive the scanner.
  JsonScanner(std::string_view text, std::string where, std::size_t first_byte = 0);

  /// Returns the kind of the next value, for a schema that allows several.
  JsonKind next_kind(std::string_view what);

  /// Calls `member` with each key; `member` must read the value.
  void read_object(std::string_view what, const std::function<void(const std::string& key)>& member);

  /// Calls `element` for each element, which `element` must read.
  void read_array(std::string_view what, const std::function<void()>& element);

  std::string read_string(std::string_view what);

  /// Reads a number from 0 to 2^64 - 1 that has digits only: neither 2.0 nor 1e3.
  std::uint64_t read_whole_number(std::string_view what);

  bool read_boolean(std::string_view what);

  /// Reads any number as the nearest double, and null as NaN.
  double read_number(std::string_view what);

  /// Skips any value of at most four nested levels.
  void skip();

  /// Throws unless only white space is left.
  void expect_end();

  /// Throws `<where>, byte <n>: <message>`, where n is the first byte of the last value.
  [[noreturn]] void fail_at_value(std::string_view message) const;

  /// Calls fail_at_value unless `condition` holds. Formats the message only in that case.
  template <typename... Args>
  void check_value(bool condition, fmt::format_string<Args...> message, Args&&... args) const {
    if (!condition) fail_at_value(fmt::format(message, std::forward<Args>(args)...));
  }

 private:
  std::string_view advice_on_number() const;
  void skip_space();
  bool consume(char expected);
  void begin_value(std::string_view starts, std::string_view what, std::string_view needs);
  std::string_view read_number_text();
  std::string read_string_body();
  void append_escape(std::string& text);
  std::uint32_t read_code_point_escape();
  std::uint32_t read_hex4();
  void skip_nested(int depth);
  void skip_word(std::string_view word);
  [[noreturn]] void fail_here(std::string_view message) const;
  [[noreturn]] void fail_for_need(std::string_view needs) const;

  std::string_view text_;
  std::string where_;
  std::size_t first_byte_;
  std::size_t position_ = 0;
  std::size_t value_begin_ = 0;
};

}  // namespace edgewise
