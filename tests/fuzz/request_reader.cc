// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "edgewise/base/utf8.h"
#include "edgewise/server/request_fields.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/readers.h"
#include "tests/server/copying_server.h"

namespace edgewise::fuzz {
namespace {

/// Returns the text before the next line feed, and removes both.
std::string take_line(std::string_view& bytes) {
  const std::size_t end = std::min(bytes.find('\n'), bytes.size());
  std::string line(bytes.substr(0, end));
  bytes.remove_prefix(std::min(end + 1, bytes.size()));
  return line;
}

HttpRequest make_request(std::string_view bytes) {
  HttpRequest request{.method = take_line(bytes), .client = "client"};
  request.path = take_line(bytes);
  request.query = take_line(bytes);
  request.headers = {{"Content-Type", take_line(bytes)}, {"Authorization", take_line(bytes)}};
  request.body = bytes;
  return request;
}

CopyingServer& server() {
  static CopyingServer copying({.characters = 100, .texts = 4, .api_keys = {"key"}});
  return copying;
}

}  // namespace

void read_request(std::string_view bytes) {
  const HttpRequest request = make_request(bytes);
  accept_errors([&] { read_request_fields(request); });
  const HttpResponse response = server().respond(request);
  require(response.status >= 200 && response.status < 500);
  require(!find_bad_utf8(response.body));
}

}  // namespace edgewise::fuzz
