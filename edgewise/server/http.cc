// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/http.h"

#include <fmt/chrono.h>

#include <algorithm>

#include "edgewise/base/ascii.h"
#include "edgewise/base/json.h"
#include "edgewise/server/http_error.h"

namespace edgewise {

std::optional<std::string_view> HttpRequest::header(std::string_view name) const {
  const auto found =
      std::ranges::find_if(headers, [&](const HttpHeader& header) { return equal_without_case(header.name, name); });
  if (found == headers.end()) return std::nullopt;
  return found->value;
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
