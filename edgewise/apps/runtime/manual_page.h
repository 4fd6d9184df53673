// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "edgewise/apps/runtime/command_description.h"

namespace edgewise {

/// Writes a manual page of section 1 in the macros of man(7). Subcommands have a section each.
std::string manual_page(const CommandDescription& program);

}  // namespace edgewise
