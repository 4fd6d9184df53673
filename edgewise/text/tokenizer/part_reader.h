// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edgewise/base/config/fields.h"
#include "edgewise/base/error.h"
#include "edgewise/base/files/json_settings.h"
#include "edgewise/base/utf8.h"

namespace edgewise {

/// Reads a component of a tokenizer.json: an object with a type and options. Errors begin with `where`.
class PartReader {
 public:
  PartReader(std::string where, const JsonValue& value) : settings_(require_object(std::move(where), value)) {}

  std::string type() const { return require(settings_.text("type"), "type"); }

  /// Throws Error for the type, and names those that Edgewise has.
  [[noreturn]] void refuse_type(std::string_view needs) const { settings_.refuse("type", quote(type()), needs); }

  bool boolean(const std::string& key, bool by_default) const { return settings_.boolean(key).value_or(by_default); }

  std::int64_t count(const std::string& key) const {
    const std::int64_t number = require(settings_.whole_number(key), key);
    if (number < 0 || number > std::numeric_limits<std::int32_t>::max()) {
      settings_.refuse(key, std::to_string(number), "a number of at least 0");
    }
    return number;
  }

  std::string text(const std::string& key) const { return limited(key, require(settings_.text(key), key)); }

  /// Returns a text of exactly one character.
  std::string character(const std::string& key) const {
    std::string text = this->text(key);
    if (count_code_points(text) != 1) settings_.refuse(key, quote(text), "one character");
    return text;
  }

  std::optional<std::string> optional_text(const std::string& key) const {
    const auto text = settings_.text(key);
    return text ? std::optional(limited(key, *text)) : std::nullopt;
  }

  template <NamedEnum Enum>
  Enum name(const std::string& key, std::optional<Enum> by_default = {}) const {
    const auto text = settings_.text(key);
    if (!text && by_default) return *by_default;
    std::vector<std::string_view> names;
    for (const auto& [value, name] : enum_names(Enum{})) {
      if (text && name == *text) return value;
      names.push_back(name);
    }
    settings_.refuse(key, text ? quote(*text) : "missing", fmt::format("one of {}", fmt::join(names, ", ")));
  }

  const JsonValue& member(const std::string& key) const {
    const JsonValue* value = settings_.find(key);
    if (value == nullptr) settings_.refuse(key, "missing", "a value");
    return *value;
  }

  const std::vector<JsonValue>& list(const std::string& key) const {
    const JsonValue& value = member(key);
    if (value.kind != JsonKind::kArray) settings_.refuse(key, describe(value), "a list");
    return value.items;
  }

  /// Ignores members that have no effect on tokens.
  void ignore(std::initializer_list<const char*> keys) const {
    for (const char* key : keys) settings_.find(key);
  }

  void expect_all_known() const { settings_.expect_all_known(""); }
  [[noreturn]] void refuse(const std::string& key, std::string_view has, std::string_view needs) const {
    settings_.refuse(key, has, needs);
  }
  const std::string& where() const { return settings_.where(); }

 private:
  static constexpr std::size_t kMaxBytes = 1000;  // size of an option

  static JsonSettings require_object(std::string where, const JsonValue& value) {
    if (value.kind != JsonKind::kObject) fail("{} is {}, needs an object", where, describe(value));
    return JsonSettings(std::move(where), value.members);
  }

  template <class Value>
  Value require(std::optional<Value> value, const std::string& key) const {
    if (!value) settings_.refuse(key, "missing", "a value");
    return *value;
  }

  std::string limited(const std::string& key, std::string text) const {
    if (text.size() > kMaxBytes) {
      settings_.refuse(key, quote(text), fmt::format("at most {} bytes", kMaxBytes));
    }
    return text;
  }

  JsonSettings settings_;
};

}  // namespace edgewise
