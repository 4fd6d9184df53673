// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/beast/http.hpp>
#include <ctime>
#include <sstream>
#include <string>
#include <utility>

#include "edgewise/server/http.h"
#include "edgewise/server/http_syntax.h"

// Messages of Beast as requests and responses of the services.

namespace edgewise {

using HttpMessage = boost::beast::http::request<boost::beast::http::string_body>;
using HttpResponseHead = boost::beast::http::response<boost::beast::http::empty_body>;

/// Moves the body out of the message. The path is empty if the message has a malformed target.
inline HttpRequest make_http_request(HttpMessage& message) {
  auto [path, query] = divide_target(message.target());
  HttpRequest request{.method = std::string(message.method_string()),
                      .path = std::move(path),
                      .query = std::move(query),
                      .body = std::move(message.body())};
  for (const auto& field : message)
    request.headers.push_back({std::string(field.name_string()), std::string(field.value())});
  return request;
}

/// Returns whether a response with this status never has a body, nor a field that describes one (RFC 9110, 6.4.1).
inline bool has_no_body(int status) { return status / 100 == 1 || status == 204 || status == 304; }

/// Returns the head of a response of HTTP/1.0 or 1.1 (`version` 10 or 11), without the length of the body. `stays`: the
/// connection stays open.
inline HttpResponseHead make_response_head(const HttpResponse& response, unsigned version, bool stays) {
  namespace http = boost::beast::http;
  HttpResponseHead head(static_cast<http::status>(response.status), version);
  for (const HttpHeader& header : response.headers) head.insert(header.name, header.value);
  head.set(http::field::date, http_date(std::time(nullptr)));
  const bool has_type = !response.content_type.empty() && !has_no_body(response.status);
  if (has_type) head.set(http::field::content_type, response.content_type);
  head.keep_alive(stays);
  return head;
}

/// Returns the bytes of a head, with the empty line.
inline std::string head_text(const HttpResponseHead& head) {
  std::ostringstream text;
  text << head.base();
  return std::move(text).str();
}

}  // namespace edgewise
