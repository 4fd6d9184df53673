// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "edgewise/base/fields.h"

// Fields as text, for files, help and errors.

namespace edgewise {

/// How an optional is unset.
inline constexpr std::string_view kNone = "none";

/// Whether the field is a section; only others have a value of their own.
bool is_section(const Field& field);

/// Whether every text is of the field's type, so that one without quotes is meant as it stands.
bool takes_text(const Field& field);

/// What the field takes: "a whole number of at least 1", "\"pre\" or \"post\"".
std::string needs_text(const Field& field);

/// The shortest digits that give the number back, with a point or exponent, by which TOML tells it from a whole one.
std::string number_text(double value);

/// The field's value as TOML. `path` is its name in errors.
std::string value_text(const Field& field, std::string_view path);

}  // namespace edgewise
