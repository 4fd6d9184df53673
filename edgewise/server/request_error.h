// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/server/http.h"

namespace edgewise {

/// An Error that a client gets as a response with this status. Any other Error is answered with status 400.
class RequestError : public Error {
 public:
  RequestError(int status, const std::string& message, std::vector<HttpHeader> headers = {})
      : Error(message), status_(status), headers_(std::move(headers)) {}

  int status() const { return status_; }
  const std::vector<HttpHeader>& headers() const { return headers_; }

 private:
  int status_;
  std::vector<HttpHeader> headers_;
};

}  // namespace edgewise
