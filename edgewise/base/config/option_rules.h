// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edgewise/base/ascii.h"
#include "edgewise/base/config/config.h"
#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"

namespace edgewise {

/// A condition without which options have no effect: `{"show.input show.output", has_validation, "validation pairs"}`.
template <OptionStruct Options>
struct OptionRule {
  std::string_view options;  // full names of options, or of sections: all options in them; spaces separate the names
  bool (*is_met)(const Options&);
  std::string_view needs;  // the condition as text
};

namespace detail {

/// Returns whether `path` is the option `name` or an option in the section `name`.
inline bool is_named(std::string_view path, std::string_view name) {
  return path.starts_with(name) && (path.size() == name.size() || path[name.size()] == '.');
}

}  // namespace detail

/// Throws Error for an option that has another value in `options` than in `before`, and has no effect, because the
/// condition of a rule is not met: "train: train.factor is 2.0, needs train.schedule=noam". Rules are checked in their
/// order. `prefix` is the section of `options` in a config, such as "search.".
template <OptionStruct Options>
void check_effects(const Options& options, const Options& before, std::span<const OptionRule<Options>> rules,
                   std::string_view caller, std::string_view prefix = "") {
  constexpr std::size_t kMaxValue = 60;  // bytes of a value in an error
  const std::vector<std::pair<std::string, std::string>> settings = settings_of(options);
  const std::vector<std::pair<std::string, std::string>> settings_before = settings_of(before);
  for (const OptionRule<Options>& rule : rules) {
    if (rule.is_met(options)) continue;
    const std::vector<std::string> names = split_ascii(rule.options, " ");
    for (std::size_t i = 0; i < settings.size(); ++i) {
      const auto& [path, value] = settings[i];
      if (value == settings_before[i].second) continue;
      for (const std::string& name : names) {
        check(!detail::is_named(path, name), "{}: {}{} is {}, needs {}", caller, prefix, path,
              printable(value, kMaxValue), rule.needs);
      }
    }
  }
}

}  // namespace edgewise
