// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/handler_threads.h"

#include <optional>

#include "edgewise/base/background.h"
#include "edgewise/base/error.h"

namespace edgewise {

HandlerThreads::HandlerThreads(std::int64_t count) : work_(io_.get_executor()) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::optional<std::jthread> thread = try_start_thread([this] { io_.run(); });
    if (!thread) {
      io_.stop();
      fail(
          "server: http.max_requests is {}, but the system starts only {} threads for requests; {}, or choose a "
          "smaller "
          "http.max_requests",
          count, i, kRaiseProcessLimit);
    }
    threads_.push_back(std::move(*thread));
  }
}

HandlerThreads::~HandlerThreads() {
  io_.stop();
  join();
}

void HandlerThreads::join() {
  work_.reset();
  threads_.clear();
}

}  // namespace edgewise
