// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
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

}  // namespace edgewise
