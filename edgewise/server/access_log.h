// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "edgewise/server/http_server.h"

namespace edgewise {

/// Returns a line of JSON, without a line feed: the time in UTC, the client's address, and the numbers of the response.
/// `endpoint` is a path of the server, or a word for all other paths. The line has no text of a user: no query, no
/// body, no key, and no path that the server does not have.
std::string access_log_line(const HttpRecord& record, std::string_view endpoint);

}  // namespace edgewise
