// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

namespace edgewise {

/// Threads that run the handlers of requests. Boost's thread_pool is not used, because its constructor waits forever
/// for the threads that it has started if the system refuses the next one.
class HandlerThreads {
 public:
  /// Throws Error if the system refuses to start a thread.
  explicit HandlerThreads(std::int64_t count);
  HandlerThreads(const HandlerThreads&) = delete;
  HandlerThreads& operator=(const HandlerThreads&) = delete;

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

}  // namespace edgewise
