// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace edgewise {

/// The name that someone most likely meant: the one with the fewest edits (insert, delete, replace, swap neighbours),
/// the first of equals. None when even that one differs in more than a third of its letters (one edit is always near).
std::optional<std::string> nearest_name(std::string_view name, std::span<const std::string> names);

}  // namespace edgewise
