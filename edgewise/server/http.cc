// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/http.h"

#include <fmt/chrono.h>

#include <algorithm>

#include "edgewise/base/json.h"
#include "edgewise/server/http_error.h"

namespace edgewise {
namespace {

char lower(char character) {
  return character >= 'A' && character <= 'Z' ? static_cast<char>(character - 'A' + 'a') : character;
}

}  // namespace

std::optional<std::string_view> HttpRequest::header(std::string_view name) const {
  const auto found = std::ranges::find_if(
      headers, [&](const HttpHeader& header) { return std::ranges::equal(header.name, name, {}, lower, lower); });
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
  return {.status = status, .body = fmt::format(R"({{"error":{},"message":{}}})", quoted, quoted)};
}

}  // namespace edgewise
