// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "edgewise/server/server_options.h"

namespace edgewise {

/// Throws RequestError with status 403 for a key that the options do not list, and with status 400 for a missing or
/// empty key if the options require one. Keys have no effect if the options list none. The time of the comparison does
/// not depend on how many characters of the key are right.
void check_api_key(const ServerOptions& options, const std::optional<std::string>& key);

}  // namespace edgewise
