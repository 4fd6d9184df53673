// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "edgewise/server/http_server.h"

namespace edgewise {

/// Answers with the parts of the request.
inline void echo(const std::shared_ptr<HttpExchange>& exchange) {
  const HttpRequest& request = exchange->request();
  exchange->respond({.content_type = "text/plain",
                     .body = request.method + " " + request.path + " " + request.query + " " + request.body});
}

/// A server on a free port of this machine, which keeps what it records and reports.
class RecordingServer {
 public:
  explicit RecordingServer(HttpHandler answer = echo, HttpServerOptions options = {},
                           std::function<bool(const HttpRequest&)> is_probe = {})
      : server_(with_free_port(std::move(options)), {.answer = std::move(answer),
                                                     .is_probe = std::move(is_probe),
                                                     .record =
                                                         [this](const HttpRecord& record) {
                                                           const std::lock_guard lock(mutex_);
                                                           records_.push_back(record);
                                                         },
                                                     .report =
                                                         [this](const std::string& text) {
                                                           const std::lock_guard lock(mutex_);
                                                           report_ = text;
                                                         }}) {}

  HttpServer* operator->() { return &server_; }
  std::uint16_t port() const { return server_.port(); }
  std::string report() {
    const std::lock_guard lock(mutex_);
    return report_;
  }
  std::vector<HttpRecord> records() {
    const std::lock_guard lock(mutex_);
    return records_;
  }

 private:
  static HttpServerOptions with_free_port(HttpServerOptions options) {
    if (options.listen == HttpServerOptions().listen) options.listen = "127.0.0.1:0";
    return options;
  }

  std::mutex mutex_;
  std::vector<HttpRecord> records_;
  std::string report_;
  HttpServer server_;
};

inline std::string get(const std::string& target) { return "GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n"; }

inline std::string post(const std::string& body, const std::string& fields = "") {
  return "POST / HTTP/1.1\r\nHost: a\r\n" + fields + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         body;
}

/// Returns whether the condition holds at some time in the next ten minutes.
template <class Condition>
bool becomes_true(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace edgewise
