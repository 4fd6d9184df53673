// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/cors.h"

namespace edgewise {

std::vector<HttpHeader> cors_headers(const std::string& origin) {
  if (origin.empty()) return {};
  return {{"Access-Control-Allow-Origin", origin},
          {"Access-Control-Allow-Headers", "Authorization, Content-Type"},
          {"Access-Control-Expose-Headers", "Retry-After"},
          {"Access-Control-Allow-Methods", "GET, POST"},
          {"Access-Control-Max-Age", "1728000"}};
}

}  // namespace edgewise
