// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "edgewise/server/http.h"

namespace edgewise {

/// A response as the access log shows it.
struct LoggedResponse {
  std::string_view endpoint;  // a path of the server, or a word for all other paths
  int status = 0;
  std::int64_t bytes = 0;  // size of the body
  double seconds = 0;      // from the whole request to the whole response
};

/// Returns a line of JSON, without a line feed: the time in UTC, the client's address, and the numbers of the response.
/// The line has no text of a user: no query, no body, no key, and no path that the server does not have.
std::string access_log_line(const HttpRequest& request, const LoggedResponse& response);

}  // namespace edgewise
