// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/files/json_value.h"

#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/files/json.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

constexpr int kMaxValueDepth = 8;
constexpr std::size_t kMaxValues = 1'000'000;
constexpr std::size_t kLongestDescription = 80;

/// Reads a value inside of `depth` others, and counts it and those inside of it.
JsonValue read_nested(JsonScanner& json, const std::string& what, int depth, std::size_t& num_values) {
  JsonValue value;
  value.kind = json.next_kind(what);
  if (depth == kMaxValueDepth)
    json.fail_at_value(fmt::format("values are nested too deep, needs at most {} levels", kMaxValueDepth));
  if (++num_values > kMaxValues) {
    json.fail_at_value(fmt::format("there are more than {0} values, needs at most {0}", kMaxValues));
  }
  const auto read_inner = [&](const std::string& key) { return read_nested(json, key, depth + 1, num_values); };
  switch (value.kind) {
    case JsonKind::kObject:
      json.read_object(what, [&](const std::string& key) { value.members[key] = read_inner(key); });
      break;
    case JsonKind::kArray:
      json.read_array(what, [&] { value.items.push_back(read_inner(what)); });
      break;
    case JsonKind::kString:
      value.text = json.read_string(what);
      break;
    case JsonKind::kNumber:
      value.number = json.read_number(what);
      break;
    case JsonKind::kBoolean:
      value.boolean = json.read_boolean(what);
      break;
    case JsonKind::kNull:
      json.skip();
      break;
  }
  return value;
}

std::string to_text(const JsonValue& value) {
  switch (value.kind) {
    case JsonKind::kObject:
      return "{…}";
    case JsonKind::kArray:
      return json_array(value.items, to_text);
    case JsonKind::kString:
      return quote(value.text);
    case JsonKind::kNumber:
      return json_number(value.number);
    case JsonKind::kBoolean:
      return value.boolean ? "true" : "false";
    default:
      return "null";
  }
}

}  // namespace

JsonValue read_json_value(JsonScanner& json, const std::string& what) {
  std::size_t num_values = 0;
  return read_nested(json, what, 0, num_values);
}

std::map<std::string, JsonValue> parse_json_object(std::string_view text, std::string where) {
  JsonScanner json(text, std::move(where));
  JsonValue value = read_json_value(json, "the file");
  json.expect_end();
  if (value.kind != JsonKind::kObject) json.fail_at_value("the file is no object, needs one");
  return std::move(value.members);
}

std::string describe(const JsonValue& value) {
  const std::string text = to_text(value);
  return text.size() > kLongestDescription ? std::string(utf8_prefix(text, kLongestDescription)) + "…" : text;
}

}  // namespace edgewise
