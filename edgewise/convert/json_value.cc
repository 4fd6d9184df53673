// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/json_value.h"

#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/files/json.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

constexpr int kMaxDepth = 8;
constexpr std::size_t kMaxValues = 1'000'000;
constexpr std::size_t kLongestDescription = 80;

class JsonReader {
 public:
  JsonReader(std::string_view text, std::string where) : json_(text, std::move(where)) {}

  std::map<std::string, JsonValue> run() && {
    JsonValue value = read("the file", 0);
    json_.expect_end();
    if (value.kind != JsonKind::kObject) json_.fail_at_value("the file is no object, needs one");
    return std::move(value.members);
  }

 private:
  JsonValue read(const std::string& what, int depth) {
    JsonValue value;
    value.kind = json_.next_kind(what);
    if (depth == kMaxDepth)
      json_.fail_at_value(fmt::format("values are nested too deep, needs at most {} levels", kMaxDepth));
    if (++num_values_ > kMaxValues) {
      json_.fail_at_value(fmt::format("there are more than {0} values, needs at most {0}", kMaxValues));
    }
    switch (value.kind) {
      case JsonKind::kObject:
        json_.read_object(what, [&](const std::string& key) { value.members[key] = read(key, depth + 1); });
        break;
      case JsonKind::kArray:
        json_.read_array(what, [&] { value.items.push_back(read(what, depth + 1)); });
        break;
      case JsonKind::kString:
        value.text = json_.read_string(what);
        break;
      case JsonKind::kNumber:
        value.number = json_.read_number(what);
        break;
      case JsonKind::kBoolean:
        value.boolean = json_.read_boolean(what);
        break;
      case JsonKind::kNull:
        json_.skip();
        break;
    }
    return value;
  }

  JsonScanner json_;
  std::size_t num_values_ = 0;
};

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

std::map<std::string, JsonValue> parse_json_object(std::string_view text, std::string where) {
  return JsonReader(text, std::move(where)).run();
}

std::string describe(const JsonValue& value) {
  const std::string text = to_text(value);
  return text.size() > kLongestDescription ? std::string(utf8_prefix(text, kLongestDescription)) + "…" : text;
}

}  // namespace edgewise
