// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/http.h"

#include "edgewise/server/ascii.h"

namespace edgewise {

std::optional<std::string_view> HttpRequest::header(std::string_view name) const {
  for (const HttpHeader& header : headers) {
    if (equal_without_case(header.name, name)) return header.value;
  }
  return std::nullopt;
}

}  // namespace edgewise
