// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/files/json.h"

#include <fmt/format.h>

#include <cmath>

#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

template <class Value>
std::string members_of(const std::map<std::int64_t, Value>& values) {
  JsonObject members;
  for (const auto& [number, value] : values) members.add(std::to_string(number), value);
  return members.text();
}

}  // namespace

std::string quote_json(std::string_view text) {
  std::string result = "\"";
  for (const char next : replace_bad_utf8(text)) {
    if (next == '"' || next == '\\') {
      result += '\\';
      result += next;
    } else if (static_cast<unsigned char>(next) < 0x20) {
      result += fmt::format("\\u{:04x}", static_cast<unsigned>(next));
    } else {
      result += next;
    }
  }
  return result + '"';
}

std::string json_number(double value) { return std::isfinite(value) ? fmt::format("{}", value) : "null"; }

JsonObject& JsonObject::add_json(std::string_view key, std::string_view json) {
  if (!members_.empty()) members_ += ", ";
  members_ += quote_json(key);
  members_ += ": ";
  members_ += json;
  return *this;
}

JsonObject& JsonObject::add(std::string_view key, const std::map<std::int64_t, std::int64_t>& counts) {
  return add_json(key, members_of(counts));
}

JsonObject& JsonObject::add(std::string_view key, const std::map<std::int64_t, double>& numbers) {
  return add_json(key, members_of(numbers));
}

}  // namespace edgewise
