// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/thread_team.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "edgewise/base/address_space.h"
#include "edgewise/base/processor_set.h"
#include "edgewise/base/threads.h"

namespace edgewise {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr int kNoProcessor = -1;

/// Longer than the time between two calls of a training step, shorter than a time slice of the scheduler.
constexpr std::chrono::microseconds kLongestSpin(200);

void pause_core() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Spins until `word` differs from `old`, or for kLongestSpin. Returns whether the word differs.
bool spin_until_change(const std::atomic<std::uint32_t>& word, std::uint32_t old) {
  constexpr int kPausesPerClockRead = 16;
  const auto deadline = std::chrono::steady_clock::now() + kLongestSpin;
  do {
    for (int i = 0; i < kPausesPerClockRead; ++i) {
      if (word.load(std::memory_order_acquire) != old) return true;
      pause_core();
    }
  } while (std::chrono::steady_clock::now() < deadline);
  return false;
}

/// Returns the value of `word` once it differs from `old`.
std::uint32_t wait_for_change(const std::atomic<std::uint32_t>& word, std::uint32_t old) {
  if (!spin_until_change(word, old)) word.wait(old, std::memory_order_acquire);
  return word.load(std::memory_order_acquire);
}

void change_and_wake(std::atomic<std::uint32_t>& word) {
  // Sequentially consistent: notify_one() looks for a sleeping thread only after the change is visible.
  word.fetch_add(1);
  word.notify_one();
}

/// Returns whether `thread` has a processor now: its CPU time grows.
bool is_computing(pthread_t thread) {
  constexpr std::chrono::microseconds kMoment(5);
  clockid_t clock = 0;
  if (pthread_getcpuclockid(thread, &clock) != 0) return true;
  const auto cpu_time = [&] {
    timespec time = {};
    clock_gettime(clock, &time);
    return std::pair(time.tv_sec, time.tv_nsec);
  };
  const auto before = cpu_time();
  const auto deadline = std::chrono::steady_clock::now() + kMoment;
  while (std::chrono::steady_clock::now() < deadline) pause_core();
  return cpu_time() != before;
}

// The number of forks between the start of the program and this process.
std::atomic<int> num_forks = 0;

void count_forks() {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, [] { ++num_forks; }); });
}

}  // namespace

class ThreadTeam::Helpers {
 public:
  int forks() const { return forks_; }

  void run(const PartedWork& work, int num_threads) {
    start_missing(std::min(num_threads, work.num_parts) - 1);
    keep_helpers_off_this_processor();
    open(work, num_threads);
    run_parts_from(0);
    close();
  }

  void stop() {
    is_stopping_ = true;
    for (const auto& helper : helpers_) change_and_wake(helper->wakes);
    for (const auto& helper : helpers_) helper->thread.join();
  }

 private:
  /// The consecutive parts that one thread claims first.
  class alignas(kCacheLine) Share {
   public:
    void set(int begin, int end) {
      next_.store(begin, std::memory_order_relaxed);
      end_ = end;
    }

    bool claim(int& part) {
      if (next_.load(std::memory_order_relaxed) >= end_) return false;
      part = next_.fetch_add(1, std::memory_order_relaxed);
      return part < end_;
    }

   private:
    std::atomic<int> next_ = 0;
    int end_ = 0;
  };

  struct alignas(kCacheLine) Helper {
    std::atomic<std::uint32_t> wakes = 0;  // changes when there is work, and at the end
    std::atomic<bool> is_working = false;
    int forbidden_processor = kNoProcessor;
    Share share;
    std::thread thread;
  };

  // The lowest bit of state_ is set while work_ is open to helpers; the other bits count the helpers that have begun.
  static constexpr std::uint32_t kOpen = 1;
  static constexpr std::uint32_t kOneHelper = 2;

  void start_missing(int count) {
    if (std::ssize(helpers_) >= count || is_refused_) return;
    helpers_.reserve(static_cast<std::size_t>(count));
    while (std::ssize(helpers_) < count) {
      is_refused_ = !has_address_space_for_thread();
      if (is_refused_) return;
      auto helper = std::make_unique<Helper>();
      const int index = static_cast<int>(helpers_.size()) + 1;
      try {
        helper->thread = std::thread([this, &helper = *helper, index] { serve(helper, index); });
      } catch (const std::system_error&) {
        is_refused_ = true;
        return;
      }
      helpers_.push_back(std::move(helper));
    }
  }

  /// Linux often wakes a helper on the caller's processor if another process computes on the helper's processor. Such a
  /// helper runs only when the caller waits, and finds no work: the team would compute on one processor.
  void keep_helpers_off_this_processor() {
    const int processor = sched_getcpu();
    std::optional<ProcessorSet> others;
    for (const auto& helper : helpers_) {
      if (std::exchange(helper->forbidden_processor, processor) == processor) continue;
      if (!others) {
        others = ProcessorSet::of_this_thread();
        others->remove(processor);
      }
      others->bind(helper->thread.native_handle());
    }
  }

  /// Before this thread sleeps: lets the helpers that work run on its processor too, and moves one that waits for a
  /// processor there at once.
  void lend_this_processor() {
    const ProcessorSet all = ProcessorSet::of_this_thread();
    bool is_lent = false;
    for (const auto& helper : helpers_) {
      if (!helper->is_working) continue;
      helper->forbidden_processor = kNoProcessor;
      const pthread_t thread = helper->thread.native_handle();
      const bool is_moved = !is_lent && !is_computing(thread);
      (is_moved ? ProcessorSet::of(sched_getcpu()) : all).bind(thread);
      is_lent = is_lent || is_moved;
    }
  }

  void open(const PartedWork& work, int num_threads) {
    work_ = work;
    num_threads_ = num_threads;
    num_shares_ = std::min({static_cast<int>(helpers_.size()) + 1, num_threads, work.num_parts});
    const auto first_part_of = [&](int index) {
      return static_cast<int>(std::int64_t{work.num_parts} * index / num_shares_);
    };
    for (int i = 0; i < num_shares_; ++i) share_of(i).set(first_part_of(i), first_part_of(i + 1));
    state_.store(kOpen, std::memory_order_release);
    for (int i = 1; i < num_shares_; ++i) change_and_wake(helpers_[static_cast<std::size_t>(i - 1)]->wakes);
  }

  /// Waits for the helpers that have begun; others find no work any more.
  void close() {
    const std::uint32_t ends_before = ends_.load(std::memory_order_relaxed);
    const bool is_helped = state_.fetch_and(~kOpen, std::memory_order_acq_rel) != kOpen;
    if (!is_helped || spin_until_change(ends_, ends_before)) return;
    lend_this_processor();
    ends_.wait(ends_before, std::memory_order_acquire);
  }

  void serve(Helper& helper, int index) {
    const SerialOpenMpScope serial;
    for (std::uint32_t wakes = 0;;) {
      wakes = wait_for_change(helper.wakes, wakes);
      if (is_stopping_) return;
      if (!begin_helping()) continue;
      // A helper that was woken for earlier work may have no share of the present work.
      if (index < num_shares_) {
        set_num_threads(num_threads_);
        helper.is_working = true;
        run_parts_from(index);
        helper.is_working = false;
      }
      end_helping();
    }
  }

  bool begin_helping() {
    std::uint32_t before = state_.load(std::memory_order_relaxed);
    while ((before & kOpen) != 0) {
      if (state_.compare_exchange_weak(before, before + kOneHelper, std::memory_order_acq_rel,
                                       std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  void end_helping() {
    const bool is_last_of_closed_work = state_.fetch_sub(kOneHelper, std::memory_order_acq_rel) == kOneHelper;
    if (is_last_of_closed_work) change_and_wake(ends_);
  }

  void run_parts_from(int index) {
    for (int i = 0; i < num_shares_; ++i) {
      Share& share = share_of((index + i) % num_shares_);
      for (int part = 0; share.claim(part);) work_.run(work_.context, part);
    }
  }

  Share& share_of(int index) {
    return index == 0 ? share_of_caller_ : helpers_[static_cast<std::size_t>(index - 1)]->share;
  }

  int forks_ = num_forks;
  std::vector<std::unique_ptr<Helper>> helpers_;
  bool is_refused_ = false;  // the system has refused to start a thread
  std::atomic<bool> is_stopping_ = false;
  Share share_of_caller_;
  PartedWork work_;
  int num_shares_ = 0;
  int num_threads_ = 1;  // num_threads() of the caller
  alignas(kCacheLine) std::atomic<std::uint32_t> state_ = 0;
  alignas(kCacheLine) std::atomic<std::uint32_t> ends_ = 0;  // changes when the last helper of closed work ends
};

ThreadTeam::ThreadTeam() {
  count_forks();
  helpers_ = std::make_unique<Helpers>();
}

ThreadTeam::~ThreadTeam() {
  if (helpers_->forks() != num_forks) {
    static_cast<void>(helpers_.release());
  } else {
    helpers_->stop();
  }
}

void ThreadTeam::run(const PartedWork& work, int num_threads) {
  if (helpers_->forks() != num_forks) {
    static_cast<void>(helpers_.release());
    helpers_ = std::make_unique<Helpers>();
  }
  helpers_->run(work, num_threads);
}

}  // namespace edgewise
