// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "edgewise/server/http.h"

namespace edgewise {

/// Returns an error in JSON as the clients of all interfaces read it: `error` for LibreTranslate's, `message` for
/// DeepL's.
HttpResponse error_response(int status, std::string_view text);

/// Returns an error of a server that has too much work, with the time after which the client may try again.
HttpResponse busy_response(int status, std::string_view text);

}  // namespace edgewise
