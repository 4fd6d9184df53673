// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace edgewise {

/// In double quotes, as JSON wants it; bytes that are not UTF-8 become U+FFFD.
std::string json_quoted(std::string_view text);

/// Null for what JSON has no number for: NaN and the infinities. Otherwise the shortest digits that give it back.
std::string json_number(double value);

/// A JSON object on one line: `JsonObject().add("step", 3).add("loss", 0.5).text()` is {"step": 3, "loss": 0.5}.
class JsonObject {
 public:
  JsonObject& add(std::string_view key, std::string_view value) { return add_json(key, json_quoted(value)); }
  JsonObject& add(std::string_view key, const char* value) { return add(key, std::string_view(value)); }
  JsonObject& add(std::string_view key, bool value) { return add_json(key, value ? "true" : "false"); }
  JsonObject& add(std::string_view key, double value) { return add_json(key, json_number(value)); }
  template <std::integral Whole>
  JsonObject& add(std::string_view key, Whole value) {
    return add_json(key, std::to_string(value));
  }

  /// Adds a value that is JSON already.
  JsonObject& add_json(std::string_view key, std::string_view json);

  std::string text() const { return "{" + members_ + "}"; }

 private:
  std::string members_;
};

}  // namespace edgewise
