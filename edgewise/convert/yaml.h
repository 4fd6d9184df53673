// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace edgewise {

/// A value of a YAML file.
struct YamlValue {
  enum class Kind { kScalar, kList, kMap };

  Kind kind = Kind::kScalar;
  std::string text = {};               // content of a scalar
  std::vector<std::string> keys = {};  // keys of a map, in the order of the file
  std::vector<YamlValue> items = {};   // elements of a list; values of a map, items[i] for keys[i]
  std::size_t line = 0;                // counted from 1

  /// Returns the value of a map's key, or null if this is no map or the map lacks the key. Takes linear time.
  const YamlValue* find(std::string_view key) const;
};

/// Reads a file. Throws Error for YAML with anchors, aliases, tags, several documents, duplicate keys, or lists and
/// maps as keys, and for more than 16 levels, 1 000 000 values or 32 MiB.
YamlValue read_yaml(const std::filesystem::path& path, std::string_view caller = "read_yaml");

/// Parses text. Errors begin with `where`.
YamlValue parse_yaml(std::string_view text, std::string_view where);

/// Returns a scalar in double quotes, on one line, that parse_yaml reads as `text`. Throws Error for text that is not
/// UTF-8. As a key before `: `, the scalar may have at most 1024 characters.
std::string quote_yaml(std::string_view text);

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

  /// Returns the texts of a list. Throws Error if the file lacks the key.
  std::vector<std::string> list(const std::string& key) const;

  /// Throws Error unless the file lacks the key, or the value is empty, false or a list without elements.
  void require_none(const std::string& key) const;

  /// Throws Error unless the value is `only`, or missing.
  void require(const std::string& key, std::string_view only) const;

  /// Throws Error for a key that no function of this class was asked for and that is not in `without_effect`, such as a
  /// merge key.
  void expect_all_known(std::string_view without_effect) const;

  /// Throws an Error about a key.
  [[noreturn]] void refuse(const std::string& key, std::string_view has, std::string_view needs) const;

 private:
  const YamlValue* find(const std::string& key) const;
  const YamlValue* find_scalar(const std::string& key, std::string_view needs) const;

  YamlValue file_;
  std::string where_;
  mutable std::set<std::string, std::less<>> asked_;
};

}  // namespace edgewise
