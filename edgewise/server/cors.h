// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "edgewise/server/http.h"

namespace edgewise {

/// Returns the headers of all responses that let pages of an origin use the server (Fetch standard, CORS protocol);
/// none for an empty origin.
std::vector<HttpHeader> cors_headers(const std::string& origin);

}  // namespace edgewise
