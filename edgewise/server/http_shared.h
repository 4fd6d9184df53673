// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "edgewise/server/client_address.h"
#include "edgewise/server/http_server.h"

namespace edgewise {

/// Threads that run the handlers of requests. Boost's thread_pool is not used, because its constructor waits forever
/// for the threads that it has started if the system refuses the next one.
class HandlerThreads {
 public:
  /// Throws Error if the system refuses to start a thread.
  explicit HandlerThreads(std::int64_t count);

  /// Drops the functions that have not begun, and waits for the others.
  ~HandlerThreads();

  /// Calls `fn`, which must not throw, in one of the threads.
  template <class Fn>
  void post(Fn&& fn) {
    boost::asio::post(io_, std::forward<Fn>(fn));
  }

  /// Waits until all functions have ended. No function may be posted afterwards.
  void join();

 private:
  boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::vector<std::jthread> threads_;
};

/// A connection as the server ends it. All functions run in the thread of the connections.
class ClosableConnection {
 public:
  virtual ~ClosableConnection() = default;
  /// Closes the connection if no bytes of a request have arrived.
  virtual void close_if_idle() = 0;
  virtual void close() = 0;
  /// Returns the bytes of the answer that the client has not received.
  virtual std::int64_t unsent_bytes() const = 0;
  /// Returns the client of the request that is being answered.
  virtual const std::string& client() const = 0;
};

/// The state that the connections of a server share. One thread runs `io` and all connections; `handler_threads`
/// run the handlers.
struct HttpShared {
  HttpShared(const HttpServerOptions& given, HttpHandlers handlers_given)
      : options(given),
        handlers(std::move(handlers_given)),
        proxies(given.trusted_proxies),
        handler_threads(given.max_requests) {}

  const HttpServerOptions options;
  const HttpHandlers handlers;
  const TrustedProxies proxies;
  boost::asio::io_context io{1};
  HandlerThreads handler_threads;
  std::atomic<std::int64_t> requests = 0;  // in handlers

  /// Calls the handler, and answers in its place if it throws.
  void answer(const std::shared_ptr<HttpExchange>& exchange) const;

  // The thread of the connections alone uses these:
  bool is_draining = false;
  std::set<ClosableConnection*> connections;
  std::map<std::string, std::int64_t, std::less<>> connections_by_client;  // by the name of TrustedProxies::client_of
  std::int64_t unsent_bytes = 0;                                           // sum over all connections

  /// `peer` is the address of the other side.
  void add(ClosableConnection* connection, const std::string& peer);
  void remove(ClosableConnection* connection, const std::string& peer);
  /// Returns by how many connections the limits are exceeded if `peer` connects; negative if it may.
  std::int64_t surplus_connections(const std::string& peer) const;
  /// While there are more than options.max_unsent bytes, closes the largest connection of the client that has the most.
  void limit_unsent_bytes();

  // All threads use these, and lock the mutex for those after it:
  std::mutex mutex;
  std::condition_variable changed;
  std::int64_t num_connections = 0;
  bool has_closed_idle = false;  // whether connections without a request are closed, and no other ones are accepted
};

}  // namespace edgewise
