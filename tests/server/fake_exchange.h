// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "edgewise/server/http.h"

namespace edgewise {

/// Returns the value of a header; an empty text if the response does not have the header.
inline std::string header_of(const HttpResponse& response, std::string_view name) {
  return std::string(HttpRequest{.headers = response.headers}.header(name).value_or(""));
}

/// An exchange without a connection, which keeps the response.
class FakeExchange final : public HttpExchange {
 public:
  explicit FakeExchange(HttpRequest request) : request_(std::move(request)) {}

  const HttpRequest& request() const override { return request_; }
  void respond(HttpResponse answer) override {
    response = std::move(answer);
    ++num_responses;
  }
  void begin_stream(HttpResponse head) override {
    response = std::move(head);
    ++num_responses;
  }
  bool write(std::string piece) override {
    response.body += piece;
    return !is_client_gone();
  }
  void end_stream() override { has_ended_stream = true; }
  void on_abandon(std::function<void()> function) override {
    {
      const std::lock_guard lock(mutex_);
      on_abandon_ = function;
    }
    if (is_client_gone()) function();
  }

  /// Hangs up.
  void abandon() {
    std::function<void()> function;
    {
      const std::lock_guard lock(mutex_);
      is_client_gone_ = true;
      function = on_abandon_;
    }
    if (function) function();
  }

  HttpResponse response = {.status = 0};
  int num_responses = 0;
  bool has_ended_stream = false;

 private:
  bool is_client_gone() const {
    const std::lock_guard lock(mutex_);
    return is_client_gone_;
  }

  HttpRequest request_;
  mutable std::mutex mutex_;
  std::function<void()> on_abandon_;
  bool is_client_gone_ = false;
};

}  // namespace edgewise
