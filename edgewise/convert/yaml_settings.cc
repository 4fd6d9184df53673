// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/yaml_settings.h"

#include <limits>
#include <utility>

#include "edgewise/base/config/range.h"
#include "edgewise/base/error.h"
#include "edgewise/base/files/json_settings.h"
#include "edgewise/base/utf8.h"

namespace edgewise {

YamlSettings::YamlSettings(YamlValue file, std::string where) : file_(std::move(file)), where_(std::move(where)) {
  check(file_.kind == YamlValue::Kind::kMap, "{} is no map, needs keys with values", where_);
}

const YamlValue* YamlSettings::find(const std::string& key) const {
  read_keys_.insert(key);
  return file_.find(key);
}

const YamlValue* YamlSettings::find_scalar(const std::string& key, std::string_view needs) const {
  const YamlValue* value = find(key);
  if (value != nullptr && value->kind != YamlValue::Kind::kScalar) refuse(key, "a list or map", needs);
  return value;
}

std::string YamlSettings::text(const std::string& key, std::string_view by_default) const {
  const YamlValue* value = find_scalar(key, "a text");
  return value == nullptr ? std::string(by_default) : value->text;
}

std::int64_t YamlSettings::whole_number(const std::string& key, std::int64_t by_default) const {
  constexpr std::string_view kNeeds = "a whole number";
  const YamlValue* value = find_scalar(key, kNeeds);
  std::int64_t number = by_default;
  if (value != nullptr && !parse_number(value->text, at_least(-1e15).at_most(1e15), number)) {
    refuse(key, quote(value->text), kNeeds);
  }
  return number;
}

double YamlSettings::number(const std::string& key, double by_default) const {
  constexpr std::string_view kNeeds = "a number";
  constexpr double kMost = std::numeric_limits<double>::max();
  const YamlValue* value = find_scalar(key, kNeeds);
  double number = by_default;
  if (value != nullptr && !parse_number(value->text, at_least(-kMost).at_most(kMost), number)) {
    refuse(key, quote(value->text), kNeeds);
  }
  return number;
}

bool YamlSettings::boolean(const std::string& key, bool by_default) const {
  constexpr std::string_view kNeeds = "true or false";
  const YamlValue* value = find_scalar(key, kNeeds);
  if (value == nullptr) return by_default;
  if (value->text != "true" && value->text != "false") refuse(key, quote(value->text), kNeeds);
  return value->text == "true";
}

std::vector<std::string> YamlSettings::list(const std::string& key) const {
  const YamlValue* value = find(key);
  check(value != nullptr, "{} has no {}, needs a list", where_, key);
  if (value->kind != YamlValue::Kind::kList) refuse(key, "no list", "one");
  std::vector<std::string> texts;
  for (const YamlValue& item : value->items) {
    if (item.kind != YamlValue::Kind::kScalar) refuse(key, "a list of lists or maps", "a list of texts");
    texts.push_back(item.text);
  }
  return texts;
}

void YamlSettings::require(const std::string& key, std::string_view only) const {
  const std::string found = text(key, only);
  if (found != only) refuse(key, quote(found), fmt::format("{}, because Edgewise has no such option", quote(only)));
}

void YamlSettings::require_none(const std::string& key) const {
  const YamlValue* value = find(key);
  if (value == nullptr) return;
  const bool is_scalar = value->kind == YamlValue::Kind::kScalar;
  const bool is_none = is_scalar ? value->text.empty() || value->text == "false" : value->items.empty();
  if (!is_none) {
    refuse(key, is_scalar ? quote(value->text) : "set", "to be left out, because Edgewise has no such option");
  }
}

void YamlSettings::expect_all_known(std::string_view without_effect) const {
  for (std::size_t i = 0; i < file_.keys.size(); ++i) {
    const std::string& key = file_.keys[i];
    if (read_keys_.contains(key) || is_listed(without_effect, key)) continue;
    const YamlValue& value = file_.items[i];
    refuse(printable(key), value.kind == YamlValue::Kind::kScalar ? quote(value.text) : "set",
           "to be left out, because Edgewise does not know whether it changes translations");
  }
}

void YamlSettings::refuse(const std::string& key, std::string_view has, std::string_view needs) const {
  fail("{}: {} is {}, needs {}", where_, key, has, needs);
}

}  // namespace edgewise
