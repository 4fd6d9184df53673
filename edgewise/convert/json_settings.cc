// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/json_settings.h"

#include <cmath>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/files/json.h"
#include "edgewise/base/utf8.h"
#include "edgewise/convert/neutral_settings.h"

namespace edgewise {
namespace {

constexpr std::uint64_t kMaxJsonBytes = std::uint64_t{32} << 20;
constexpr int kMaxDepth = 8;
constexpr std::size_t kMaxValues = 1'000'000;
constexpr std::size_t kLongestDescription = 80;
constexpr double kMostExact = 9007199254740992.0;  // 2^53: each whole number up to here is a double

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

std::string write(const JsonValue& value) {
  switch (value.kind) {
    case JsonKind::kObject:
      return "{…}";
    case JsonKind::kArray:
      return json_array(value.items, write);
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

std::string describe(const JsonValue& value) {
  const std::string text = write(value);
  return text.size() > kLongestDescription ? std::string(utf8_prefix(text, kLongestDescription)) + "…" : text;
}

JsonSettings JsonSettings::read(const std::filesystem::path& path, std::string_view caller) {
  const std::string text = read_file(path, caller, kMaxJsonBytes);
  JsonSettings settings(fmt::format("{}: {}", caller, path.string()));
  settings.members_ = JsonReader(text, settings.where_).run();
  return settings;
}

const JsonValue* JsonSettings::find(const std::string& key) const {
  asked_.insert(key);
  const auto found = members_.find(key);
  return found == members_.end() || found->second.is_null() ? nullptr : &found->second;
}

const JsonValue* JsonSettings::find(const std::string& key, JsonKind kind, std::string_view needs) const {
  const JsonValue* value = find(key);
  if (value != nullptr && value->kind != kind) refuse(key, describe(*value), needs);
  return value;
}

std::optional<std::int64_t> JsonSettings::whole_number(const std::string& key) const {
  constexpr std::string_view kNeeds = "a whole number";
  const JsonValue* value = find(key, JsonKind::kNumber, kNeeds);
  if (value == nullptr) return std::nullopt;
  const bool is_whole = std::floor(value->number) == value->number && std::abs(value->number) <= kMostExact;
  if (!is_whole) refuse(key, describe(*value), kNeeds);
  return static_cast<std::int64_t>(value->number);
}

std::optional<double> JsonSettings::number(const std::string& key) const {
  const JsonValue* value = find(key, JsonKind::kNumber, "a number");
  return value == nullptr ? std::nullopt : std::optional(value->number);
}

std::optional<bool> JsonSettings::boolean(const std::string& key) const {
  const JsonValue* value = find(key, JsonKind::kBoolean, "true or false");
  return value == nullptr ? std::nullopt : std::optional(value->boolean);
}

std::optional<std::string> JsonSettings::text(const std::string& key) const {
  const JsonValue* value = find(key, JsonKind::kString, "a string");
  return value == nullptr ? std::nullopt : std::optional(value->text);
}

void JsonSettings::require_number(const std::string& key, double only) const {
  const std::optional<double> value = number(key);
  if (value && *value != only) refuse(key, json_number(*value), json_number(only));
}

void JsonSettings::require_boolean(const std::string& key, bool only) const {
  const std::optional<bool> value = boolean(key);
  if (value && *value != only) refuse(key, *value ? "true" : "false", only ? "true" : "false");
}

void JsonSettings::require_absent(const std::string& key) const {
  const JsonValue* value = find(key);
  const bool is_list = value != nullptr && (value->kind == JsonKind::kArray || value->kind == JsonKind::kObject);
  const bool is_empty = value == nullptr || (is_list && value->items.empty() && value->members.empty());
  if (!is_empty) refuse(key, describe(*value), "null, because Edgewise has no such option");
}

void JsonSettings::expect_all_known(std::string_view without_effect, const JsonSettings* precedent) const {
  for (const auto& [key, value] : members_) {
    const bool is_asked = asked_.contains(key) || (precedent != nullptr && precedent->asked_.contains(key));
    const bool is_known = is_asked || key.starts_with('_') || is_listed(without_effect, key);
    if (is_known || value.is_null()) continue;
    refuse(printable(key), describe(value),
           "to be left out, because Edgewise does not know whether it changes translations");
  }
}

void JsonSettings::refuse(const std::string& key, std::string_view has, std::string_view needs) const {
  fail("{}: {} is {}, needs {}", where_, key, has, needs);
}

}  // namespace edgewise
