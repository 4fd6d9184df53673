// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/config/field_text.h"

#include <limits>

#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

std::string toml_string(std::string_view value, std::string_view path) {
  check(!find_bad_utf8(value), "to_toml: {} is {}, needs UTF-8", path, quote(value));
  std::string text = "\"";
  for (const char next : value) {
    const auto byte = static_cast<unsigned char>(next);
    if (next == '"' || next == '\\') {
      text += '\\';
      text += next;
    } else if (byte < 0x20 || byte == 0x7F) {
      text += fmt::format("\\u{:04x}", byte);
    } else {
      text += next;
    }
  }
  return text + '"';
}

/// Lists names for a sentence: "a", "b" or "c".
std::string list_alternatives(const std::vector<std::string_view>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += quote(names[i]);
  }
  return text;
}

struct RequirementText {
  const Range& range;

  std::string operator()(const bool*) const { return "true or false"; }
  std::string operator()(const int*) const {
    const std::string text = range.text();
    return "a whole number" + (text.empty() ? " from -2147483648 to 2147483647" : text);
  }
  std::string operator()(const std::int64_t*) const { return "a whole number" + range.text(); }
  std::string operator()(const std::uint64_t*) const {
    const std::string text = range.text();
    return "a whole number" + (text.empty() ? at_least(0).text() : text);
  }
  std::string operator()(const double*) const { return "a number" + range.text(); }
  std::string operator()(const std::string*) const { return "a string"; }
  std::string operator()(const std::vector<std::string>*) const { return "a list of strings"; }
  std::string operator()(const std::vector<std::int64_t>*) const { return "a list of whole numbers" + element_range(); }
  std::string operator()(const std::vector<double>*) const { return "a list of numbers" + element_range(); }
  std::string operator()(const StringLists*) const { return "a string, a list of strings or a list of such lists"; }
  template <class Value>
  std::string operator()(const std::optional<Value>*) const {
    return (*this)(static_cast<const Value*>(nullptr)) + " or " + quote(kNoneText);
  }
  std::string operator()(const EnumValue& names) const { return list_alternatives(names.names); }
  std::string operator()(const Section&) const { return "a section"; }

  std::string element_range() const { return range.text().empty() ? "" : ", each" + range.text(); }
};

struct ValueText {
  std::string_view path;

  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
  // TOML integers end at 2^63 - 1; larger numbers are written as strings of digits.
  std::string operator()(std::uint64_t value) const {
    const bool fits = value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    return fits ? fmt::format("{}", value) : fmt::format("\"{}\"", value);
  }
  std::string operator()(double value) const { return number_text(value); }
  std::string operator()(const std::string& value) const { return toml_string(value, path); }
  template <class Element>
  std::string operator()(const std::vector<Element>& list) const {
    std::string text;
    for (const auto& element : list) text += (text.empty() ? "" : ", ") + (*this)(element);
    return "[" + text + "]";
  }
  std::string operator()(const StringLists& lists) const {
    if (lists.size() != 1 || lists.front().empty()) return operator()<std::vector<std::string>>(lists);
    return lists.front().size() == 1 ? (*this)(lists.front().front()) : (*this)(lists.front());
  }
  template <class Value>
  std::string operator()(const std::optional<Value>& value) const {
    std::string none = toml_string(kNoneText, path);
    if (!value) return none;
    std::string text = (*this)(*value);
    check(text != none, "to_toml: {} is {}, needs another text; that one means unset", path, text);
    return text;
  }

  template <class Value>
  std::string operator()(Value* value) const {
    if constexpr (std::is_same_v<Value, int>)
      return (*this)(std::int64_t{*value});
    else
      return (*this)(*value);
  }
  std::string operator()(const EnumValue& value) const { return toml_string(value.get(), path); }
  std::string operator()(const Section&) const { fail("value_text: {} is a section, needs a value", path); }
};

}  // namespace

bool is_section(const Field& field) { return std::holds_alternative<Section>(field.value); }

bool is_text_field(const Field& field) {
  return std::holds_alternative<std::string*>(field.value) || std::holds_alternative<EnumValue>(field.value) ||
         std::holds_alternative<std::optional<std::string>*>(field.value);
}

std::string number_text(double value) {
  const std::string text = fmt::format("{}", value);
  const bool looks_whole = text.find_first_not_of("-0123456789") == std::string::npos;
  return looks_whole ? text + ".0" : text;
}

std::string requirement_text(const Field& field) { return std::visit(RequirementText{field.range}, field.value); }
std::string value_text(const Field& field, std::string_view path) { return std::visit(ValueText{path}, field.value); }

}  // namespace edgewise
