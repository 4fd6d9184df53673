// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/convert/yaml.h"

namespace edgewise {

/// The settings in a YAML file of another system: a map whose keys may be missing, which means the default.
class YamlSettings {
 public:
  /// Errors begin with `where`. Throws Error unless the file is a map.
  YamlSettings(YamlValue file, std::string where);

  // Return the value of a key, or `by_default` if the file lacks the key. Throw Error for a value of another type.
  std::string text(const std::string& key, std::string_view by_default) const;
  std::int64_t whole_number(const std::string& key, std::int64_t by_default) const;
  double number(const std::string& key, double by_default) const;
  bool boolean(const std::string& key, bool by_default) const;

  /// Returns whether the file has a key.
  bool has(const std::string& key) const { return find(key) != nullptr; }

  /// Returns the texts of a list. Throws Error if the file lacks the key.
  std::vector<std::string> list(const std::string& key) const;

  /// Throws Error unless the file lacks the key, or the value is empty, false or a list without elements.
  void require_none(const std::string& key) const;

  /// Throws Error unless the value is `only`, or missing.
  void require(const std::string& key, std::string_view only) const;

  /// Throws Error for a key, such as a merge key, that nothing has read and that `without_effect` does not list
  /// (neutral_settings.h).
  void expect_all_known(std::string_view without_effect) const;

  /// Throws an Error about a key.
  [[noreturn]] void refuse(const std::string& key, std::string_view has, std::string_view needs) const;

 private:
  const YamlValue* find(const std::string& key) const;
  const YamlValue* find_scalar(const std::string& key, std::string_view needs) const;

  YamlValue file_;
  std::string where_;
  mutable std::set<std::string, std::less<>> read_keys_;
};

}  // namespace edgewise
