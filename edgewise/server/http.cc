// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/http.h"

#include <fmt/chrono.h>

#include <chrono>

#include "edgewise/base/ascii.h"
#include "edgewise/base/files/json.h"

namespace edgewise {
namespace {

std::string time_in_utc() {
  using std::chrono::milliseconds;
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  const std::int64_t now = std::chrono::duration_cast<milliseconds>(since_1970).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(static_cast<std::time_t>(now / 1000)), now % 1000);
}

/// Returns the method, or a word for all methods that HTTP does not define: the name of a method may be any text.
std::string_view known_method(const std::string& method) {
  for (const std::string_view known :
       {"GET", "HEAD", "POST", "OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "CONNECT"}) {
    if (method == known) return known;
  }
  return "other";
}

}  // namespace

std::string access_log_line(const HttpRecord& record, std::string_view endpoint) {
  return JsonObject()
      .add("time", time_in_utc())
      .add("client", record.client)
      .add("method", known_method(record.method))
      .add("endpoint", endpoint)
      .add("status", record.status)
      .add("request_bytes", record.request_bytes)
      .add("response_bytes", record.response_bytes)
      .add("seconds", record.seconds)
      .text();
}

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

std::vector<HttpHeader> cors_headers(const std::string& origin) {
  if (origin.empty()) return {};
  return {{"Access-Control-Allow-Origin", origin},
          {"Access-Control-Allow-Headers", "Authorization, Content-Type"},
          {"Access-Control-Expose-Headers", "Retry-After"},
          {"Access-Control-Allow-Methods", "GET, POST"},
          {"Access-Control-Max-Age", "1728000"}};
}

}  // namespace edgewise
