// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace edgewise {

/// Suggests a correction for a misspelt name: the first of `names` at the smallest edit distance (insert, delete or
/// replace a letter, or swap neighbours). Returns nothing if this distance is above 1 and above a third of the letters.
/// A letter is a code point.
std::optional<std::string> nearest_name(std::string_view name, std::span<const std::string> names);

}  // namespace edgewise
