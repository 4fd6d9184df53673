// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/serve/line_log.h"

#include <chrono>
#include <utility>

#include "edgewise/base/background.h"
#include "edgewise/base/error.h"
#include "edgewise/base/files/json.h"

namespace edgewise {
namespace {

constexpr std::size_t kMaxWaitingBytes = std::size_t{4} << 20;
constexpr std::size_t kManyBytes = kMaxWaitingBytes / 4;  // a batch of this size is written without waiting for more
constexpr std::chrono::milliseconds kCollectTime{10};     // how long a smaller batch waits for more lines

/// Returns a line that tells how many lines were lost; nothing for none.
std::string loss_line(std::size_t num_lost) {
  return num_lost == 0 ? "" : JsonObject().add("lost_lines", num_lost).text() + "\n";
}

}  // namespace

LineLog::LineLog(Write write) : write_(std::move(write)) {
  auto thread = try_start_thread([this] { write_lines(); });
  check(thread.has_value(), "server: the system refuses to start a thread, needs one for the access log; {}",
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
  bool is_due = false;
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() > kMaxWaitingBytes) {
      ++num_lost_;
      return;
    }
    is_due = waiting_.empty() || waiting_.size() > kManyBytes;
    const std::size_t num_lost = std::exchange(num_lost_, 0);
    waiting_.append(loss_line(num_lost)).append(line).append("\n");
    num_waiting_ += num_lost + 1;
  }
  if (is_due) changed_.notify_one();
}

void LineLog::write_lines() {
  std::size_t num_unwritten = 0;  // lines that `write_` lost
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return is_at_end_ || !waiting_.empty(); });
    // Each wake-up of this thread for a single line would delay a thread that searches.
    changed_.wait_for(lock, kCollectTime, [&] { return is_at_end_ || waiting_.size() > kManyBytes; });
    if (waiting_.empty()) {  // at the end
      const std::string losses = loss_line(num_unwritten) + loss_line(num_lost_);
      if (!losses.empty()) write_(losses);
      return;
    }
    const std::string lines = loss_line(num_unwritten) + std::exchange(waiting_, {});
    const std::size_t num_lines = num_unwritten + std::exchange(num_waiting_, 0);
    lock.unlock();
    num_unwritten = write_(lines) ? 0 : num_lines;
    lock.lock();
  }
}

}  // namespace edgewise
