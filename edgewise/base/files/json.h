// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace edgewise {

/// Writes a JSON string, in double quotes. Each byte that is not UTF-8 becomes U+FFFD.
std::string quote_json(std::string_view text);

/// Writes the shortest digits that parse to `value`, or "null" for NaN and infinities, which JSON cannot write.
std::string json_number(double value);

/// Returns a JSON array on one line. `json_of(element)` returns the JSON text of an element of the range.
std::string json_array(const auto& range, auto json_of) {
  std::string elements;
  for (const auto& element : range) {
    if (!elements.empty()) elements += ", ";
    elements += json_of(element);
  }
  return "[" + elements + "]";
}

/// A JSON object on one line: `JsonObject().add("step", 3).add("loss", 0.5).text()` is {"step": 3, "loss": 0.5}.
class JsonObject {
 public:
  JsonObject& add(std::string_view key, std::string_view value) { return add_json(key, quote_json(value)); }
  JsonObject& add(std::string_view key, const char* value) { return add(key, std::string_view(value)); }
  JsonObject& add(std::string_view key, bool value) { return add_json(key, value ? "true" : "false"); }
  JsonObject& add(std::string_view key, double value) { return add_json(key, json_number(value)); }
  JsonObject& add(std::string_view key, std::integral auto value) { return add_json(key, std::to_string(value)); }

  /// Adds an object such as {"2": 40, "3": 5}.
  JsonObject& add(std::string_view key, const std::map<std::int64_t, std::int64_t>& counts);
  JsonObject& add(std::string_view key, const std::map<std::int64_t, double>& numbers);

  /// Adds a value that is already JSON text.
  JsonObject& add_json(std::string_view key, std::string_view json);

  std::string text() const { return "{" + members_ + "}"; }

 private:
  std::string members_;
};

}  // namespace edgewise
