// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/files/json_settings.h"

#include <algorithm>
#include <cmath>

#include "edgewise/base/error.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/files/json.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

constexpr std::uint64_t kMaxJsonBytes = std::uint64_t{32} << 20;
constexpr double kMaxExactInteger = 9007199254740992.0;  // 2^53: each whole number up to here is a double

}  // namespace

bool is_listed(std::string_view names, std::string_view name) {
  for (std::size_t begin = 0; begin < names.size();) {
    const std::size_t end = std::min(names.find(' ', begin), names.size());
    if (names.substr(begin, end - begin) == name) return true;
    begin = end + 1;
  }
  return false;
}

JsonSettings JsonSettings::read(const std::filesystem::path& path, std::string_view caller) {
  const std::string text = read_file(path, caller, kMaxJsonBytes);
  JsonSettings settings(fmt::format("{}: {}", caller, path.string()));
  settings.members_ = parse_json_object(text, settings.where_);
  return settings;
}

const JsonValue* JsonSettings::find(const std::string& key) const {
  read_keys_.insert(key);
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
  const bool is_whole = std::floor(value->number) == value->number && std::abs(value->number) <= kMaxExactInteger;
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

void JsonSettings::expect_all_known(std::string_view without_effect, const JsonSettings* overriding) const {
  for (const auto& [key, value] : members_) {
    const bool is_read = read_keys_.contains(key) || (overriding != nullptr && overriding->read_keys_.contains(key));
    const bool is_known = is_read || key.starts_with('_') || is_listed(without_effect, key);
    if (is_known || value.is_null()) continue;
    refuse(printable(key), describe(value),
           "to be left out, because Edgewise does not know whether it changes translations");
  }
}

void JsonSettings::refuse(const std::string& key, std::string_view has, std::string_view needs) const {
  fail("{}: {} is {}, needs {}", where_, key, has, needs);
}

}  // namespace edgewise
