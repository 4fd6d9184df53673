// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/base/files/json_scanner.h"

namespace edgewise {

/// A value of a JSON file.
struct JsonValue {
  JsonKind kind = JsonKind::kNull;
  bool boolean = false;
  double number = 0;
  std::string text = {};
  std::vector<JsonValue> items = {};              // elements of a list
  std::map<std::string, JsonValue> members = {};  // values of an object

  bool is_null() const { return kind == JsonKind::kNull; }
};

/// Reads the next value of a scanner. `what` names the value in errors. Throws Error for more than 8 levels or
/// 1 000 000 values.
JsonValue read_json_value(JsonScanner& json, const std::string& what);

/// Returns the members of an object. Errors begin with `where`. Throws Error for more than 8 levels or 1 000 000
/// values.
std::map<std::string, JsonValue> parse_json_object(std::string_view text, std::string where);

/// Returns a value as text for error messages, shortened: `[[0], [5]]`.
std::string describe(const JsonValue& value);

}  // namespace edgewise
