// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "edgewise/server/http.h"

namespace edgewise {

/// A connection as its exchanges use it. All functions run in the thread of the connections. A call for an exchange
/// that is not the current one has no effect.
class ExchangeConnection {
 public:
  virtual ~ExchangeConnection() = default;
  virtual void respond(std::int64_t exchange, HttpResponse response) = 0;
  virtual void begin_stream(std::int64_t exchange, HttpResponse head) = 0;
  virtual void write(std::int64_t exchange, std::string piece) = 0;
  virtual void end_stream(std::int64_t exchange) = 0;
  /// Closes the connection without the end of a stream, so that the client sees that something is missing.
  virtual void cut_off(std::int64_t exchange) = 0;
};

/// The exchange of a connection. Passes the answer to the thread of the connections.
class ConnectionExchange final : public HttpExchange {
 public:
  ConnectionExchange(boost::asio::any_io_executor executor, std::weak_ptr<ExchangeConnection> connection,
                     std::int64_t id, HttpRequest request);

  const HttpRequest& request() const override { return request_; }
  void respond(HttpResponse response) override;
  void begin_stream(HttpResponse head) override;
  bool write(std::string piece) override;
  void end_stream() override;
  void on_abandon(std::function<void()> function) override;

  // --- for the connection

  std::int64_t id() const { return id_; }
  /// Answers with status 500 if there was no answer, and cuts off a stream that has no end.
  void finish_if_forgotten();
  /// Calls the function of on_abandon(), and makes write() return false.
  void abandon();
  /// Forgets the function of on_abandon().
  void complete();

 private:
  template <class Call, class... Arguments>
  void post(Call call, Arguments... arguments);

  boost::asio::any_io_executor executor_;
  std::weak_ptr<ExchangeConnection> connection_;
  std::int64_t id_;
  HttpRequest request_;
  std::atomic<bool> is_answered_ = false;  // whether the answer has begun
  std::atomic<bool> is_finished_ = false;

  std::mutex mutex_;
  bool is_abandoned_ = false;
  bool is_complete_ = false;
  std::function<void()> on_abandon_;
};

}  // namespace edgewise
