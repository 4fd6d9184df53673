// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "edgewise/base/files/json_value.h"

namespace edgewise {

/// Returns whether a name is one of those in a list with spaces between them.
bool is_listed(std::string_view names, std::string_view name);

/// The settings in a JSON file of another system: an object whose members may be null, which means the default.
class JsonSettings {
 public:
  /// Reads a file. Errors begin with `caller` and name the file. Throws Error for more than 8 levels or 1 000 000
  /// values.
  static JsonSettings read(const std::filesystem::path& path, std::string_view caller);

  /// Takes the members of an object, by default none. Errors begin with `where`.
  explicit JsonSettings(std::string where, std::map<std::string, JsonValue> members = {})
      : where_(std::move(where)), members_(std::move(members)) {}

  const std::string& where() const { return where_; }

  /// Returns null for a member that is absent or null.
  const JsonValue* find(const std::string& key) const;

  /// Returns whether there is a member, which may be null. Some systems take the default for an absent member only.
  bool has(const std::string& key) const { return members_.contains(key); }

  // Return the value of a member, or nothing if it is absent or null. Throw Error for a value of another type.
  std::optional<std::int64_t> whole_number(const std::string& key) const;
  std::optional<double> number(const std::string& key) const;
  std::optional<bool> boolean(const std::string& key) const;
  std::optional<std::string> text(const std::string& key) const;

  /// Throws Error unless the member is absent, null or equal to `only`: another value has no counterpart in Edgewise.
  void require_number(const std::string& key, double only) const;
  void require_boolean(const std::string& key, bool only) const;
  void require_absent(const std::string& key) const;  // an empty list or object counts as absent

  /// Throws Error for a member that nothing has read and that may change translations. Allowed are members that are
  /// null, that begin with an underscore, that `without_effect` lists, with spaces between them, or that were read from
  /// `overriding`, a file that has precedence.
  void expect_all_known(std::string_view without_effect, const JsonSettings* overriding = nullptr) const;

  /// Throws an Error about a member.
  [[noreturn]] void refuse(const std::string& key, std::string_view has, std::string_view needs) const;

 private:
  const JsonValue* find(const std::string& key, JsonKind kind, std::string_view needs) const;

  std::string where_;
  std::map<std::string, JsonValue> members_;
  mutable std::set<std::string, std::less<>> read_keys_;
};

}  // namespace edgewise
