// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/serve/line_log.h"

#include <fmt/format.h>

#include <utility>

#include "edgewise/base/background.h"
#include "edgewise/base/error.h"
#include "edgewise/base/json.h"

namespace edgewise {
namespace {

constexpr std::size_t kMaxWaitingBytes = std::size_t{4} << 20;

}  // namespace

LineLog::LineLog(Write write) : write_(std::move(write)) {
  auto thread = try_start_thread([this] { write_lines(); });
  check(thread.has_value(), "serve: the system refuses to start a thread, needs one for the access log; {}",
        kRaiseProcessLimit);
  thread_ = std::move(*thread);
}

LineLog::~LineLog() {
  {
    const std::lock_guard lock(mutex_);
    is_at_end_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void LineLog::add(std::string_view line) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() > kMaxWaitingBytes) {
      ++num_lost_;
      return;
    }
    if (num_lost_ > 0) waiting_ += JsonObject().add("lost_lines", std::exchange(num_lost_, 0)).text() + "\n";
    waiting_.append(line).append("\n");
    ++num_waiting_;
  }
  changed_.notify_one();
}

void LineLog::write_lines() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return is_at_end_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const std::string lines = std::exchange(waiting_, {});
    const std::size_t num_lines = std::exchange(num_waiting_, 0);
    lock.unlock();
    const bool is_written = write_(lines);
    lock.lock();
    if (!is_written) num_lost_ += num_lines;
  }
}

}  // namespace edgewise
