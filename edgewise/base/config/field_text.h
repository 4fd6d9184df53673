// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "edgewise/base/config/fields.h"

// Writes fields as text for config files, help and errors.

namespace edgewise {

/// The TOML string that stands for an optional without a value.
inline constexpr std::string_view kNoneText = "none";

/// Whether the field is a nested struct: a section of the TOML file.
bool is_section(const Field& field);

/// Whether the field's value is a string in TOML, so that an override needs no quotes around it.
bool is_text_field(const Field& field);

/// Describes the values that the field takes: "a whole number of at least 1", "\"pre\" or \"post\"".
std::string requirement_text(const Field& field);

/// Returns the shortest digits that parse to `value`, with the point or exponent that TOML needs in a float.
std::string number_text(double value);

/// Returns the field's value as TOML. Errors name the field by `path`.
std::string value_text(const Field& field, std::string_view path);

}  // namespace edgewise
