// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "edgewise/server/http.h"

namespace edgewise {

/// Returns an error in JSON as the clients of all interfaces read it: `error` for LibreTranslate's, `message` for
/// DeepL's. Statuses 429 and 503 have the header Retry-After.
HttpResponse error_response(int status, std::string_view text);

}  // namespace edgewise
