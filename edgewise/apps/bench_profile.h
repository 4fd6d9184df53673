// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "edgewise/base/profile.h"

namespace edgewise {

/// Prints the share of `seconds` that each line has, and that of the rest.
void print_profile(std::span<const Profile::Line> lines, double seconds);

}  // namespace edgewise
