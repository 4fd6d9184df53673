// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "edgewise/server/http.h"

namespace edgewise {

/// An exchange that adds headers to the response of another one, and remembers its status and size.
class ObservedExchange final : public HttpExchange {
 public:
  ObservedExchange(std::shared_ptr<HttpExchange> exchange, std::vector<HttpHeader> headers)
      : exchange_(std::move(exchange)), headers_(std::move(headers)) {}

  const HttpRequest& request() const override { return exchange_->request(); }
  void respond(HttpResponse response) override {
    begin(response);
    exchange_->respond(std::move(response));
  }
  void begin_stream(HttpResponse head) override {
    begin(head);
    exchange_->begin_stream(std::move(head));
  }
  bool write(std::string piece) override {
    num_bytes_ += static_cast<std::int64_t>(piece.size());
    return exchange_->write(std::move(piece));
  }
  void end_stream() override { exchange_->end_stream(); }
  void on_abandon(std::function<void()> function) override { exchange_->on_abandon(std::move(function)); }

  /// Returns 0 before the response.
  int status() const { return status_; }
  /// Returns the number of bytes of the body.
  std::int64_t num_bytes() const { return num_bytes_; }

 private:
  void begin(HttpResponse& response) {
    status_ = response.status;
    num_bytes_ += static_cast<std::int64_t>(response.body.size());
    response.headers.insert(response.headers.end(), headers_.begin(), headers_.end());
  }

  std::shared_ptr<HttpExchange> exchange_;
  std::vector<HttpHeader> headers_;
  std::atomic<int> status_ = 0;
  std::atomic<std::int64_t> num_bytes_ = 0;
};

}  // namespace edgewise
