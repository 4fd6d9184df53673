// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edgewise/base/config/fields.h"
#include "edgewise/base/files/files.h"

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

}  // namespace edgewise
