// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edgewise/base/config/fields.h"
#include "edgewise/base/error.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/utf8.h"

// Reads and writes option structs (fields.h) as TOML.

namespace edgewise {

enum class TomlComments { kNone, kHelp };

namespace detail {
void read_fields(const Section& fields, std::string_view toml, std::string_view name,
                 std::span<const std::string> overrides);
std::string write_fields(const Section& fields, TomlComments comments);
std::vector<std::pair<std::string, std::string>> settings(const Section& fields);
}  // namespace detail

/// Reads options from TOML text. A key that is absent keeps its value in `options`. Overrides have the form
/// `section.key=value` and replace values of the text; a value that is not TOML is read as a string, so that
/// `data.train=corpus.tsv` needs no quotes. The string "none" clears an optional. Errors call the text `name`. Throws
/// Error for an unknown key, a value of another type or out of range, and text that is not TOML, with line and column:
///
///     config.toml:12:3: train.step is unknown; did you mean train.steps?
///     config.toml:4:1: model.heads is "four", needs a whole number
///     --set train.dropout=1.5: train.dropout is 1.5, needs a number from 0 to below 1
template <OptionStruct Options>
Options parse_config(std::string_view toml, std::string_view name, std::span<const std::string> overrides = {},
                     Options options = {}) {
  detail::read_fields(fields_of(options), toml, name, overrides);
  return options;
}

/// Reads options from a TOML file, as parse_config reads them from a text.
template <OptionStruct Options>
Options read_config(const std::filesystem::path& file, std::span<const std::string> overrides = {}) {
  return parse_config<Options>(read_file(file, "read_config", kMaxConfigBytes), file.string(), overrides);
}

/// Writes every field in the struct's order, sections last. parse_config reads equal values back, bit for bit except
/// for NaN. Throws Error for a string that is not UTF-8, and for an optional string whose value is "none".
template <OptionStruct Options>
std::string to_toml(const Options& options, TomlComments comments = TomlComments::kNone) {
  Options copy = options;
  return detail::write_fields(fields_of(copy), comments);
}

/// Returns the full name and the value of every field, in the form of an override: ("train.steps", "2000").
template <OptionStruct Options>
std::vector<std::pair<std::string, std::string>> settings_of(const Options& options) {
  Options copy = options;
  return detail::settings(fields_of(copy));
}

/// A condition without which options have no effect: `{"train.factor", is_noam, "train.schedule=noam"}`.
template <OptionStruct Options>
struct OptionRule {
  std::string_view option;  // the full name of an option, or of a section: all options in it
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
    for (std::size_t i = 0; i < settings.size(); ++i) {
      const auto& [path, value] = settings[i];
      check(value == settings_before[i].second || !detail::is_named(path, rule.option), "{}: {}{} is {}, needs {}",
            caller, prefix, path, printable(value, kMaxValue), rule.needs);
    }
  }
}

}  // namespace edgewise
