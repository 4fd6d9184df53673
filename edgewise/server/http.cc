// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/http.h"

#include <fmt/chrono.h>

#include "edgewise/base/ascii.h"
#include "edgewise/base/files/json.h"
#include "edgewise/server/http_error.h"

namespace edgewise {

std::optional<std::string> HttpRequest::header(std::string_view name) const {
  std::optional<std::string> value;
  for (const HttpHeader& header : headers) {
    if (!equal_without_case(header.name, name)) continue;
    value = value ? *value + ", " + header.value : header.value;
  }
  return value;
}

std::string http_date(std::time_t time) {
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  return fmt::format("{:%a, %d %b %Y %H:%M:%S GMT}", parts);
}

HttpResponse error_response(int status, std::string_view text) {
  const std::string quoted = quote_json(text);
  HttpResponse response{.status = status, .body = fmt::format(R"({{"error":{},"message":{}}})", quoted, quoted)};
  if (status == 429 || status == 503) response.headers.push_back({"Retry-After", "1"});
  return response;
}

}  // namespace edgewise
