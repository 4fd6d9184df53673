// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edgewise/base/fields.h"

// Option structs (fields.h) from and to TOML.

namespace edgewise {

enum class TomlComments { kNone, kHelp };

namespace detail {
void read_fields(const Section& fields, std::string_view toml, std::string_view name,
                 std::span<const std::string> overrides);
std::string write_fields(const Section& fields, TomlComments comments);
std::string describe(const Section& fields);
std::vector<std::pair<std::string, std::string>> settings(const Section& fields);
std::string read_config_file(const std::filesystem::path& file);
}  // namespace detail

/// Reads options from TOML text; a key that is absent keeps its value in `options`, by default its default. Overrides
/// are `section.key=value` and win: the value is TOML, or a string where it is not (`data.train=corpus.tsv` needs no
/// quotes). An optional is unset by "none". `name` is what errors call the text. Throws Error for an unknown key (with
/// the nearest one), a value of another type or out of its range, and what is not TOML, each with its line and column:
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

/// The same from a file.
template <OptionStruct Options>
Options read_config(const std::filesystem::path& file, std::span<const std::string> overrides = {}) {
  return parse_config<Options>(detail::read_config_file(file), file.string(), overrides);
}

/// Every field, in the struct's order, sections last. parse_config gives back equal options, to the last bit of each
/// number (NaN excepted). Throws Error for a string that is not UTF-8, and for an optional string that holds "none".
template <OptionStruct Options>
std::string to_toml(const Options& options, TomlComments comments = TomlComments::kNone) {
  Options copy = options;
  return detail::write_fields(fields_of(copy), comments);
}

/// Every field's full name and value, as an override says them: ("train.steps", "2000").
template <OptionStruct Options>
std::vector<std::pair<std::string, std::string>> settings_of(const Options& options) {
  Options copy = options;
  return detail::settings(fields_of(copy));
}

/// Help: for each field a line with its name, its default, what it means and what it takes.
template <OptionStruct Options>
std::string describe_fields() {
  Options defaults;
  return detail::describe(fields_of(defaults));
}

}  // namespace edgewise
