// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "edgewise/distributed/process_group.h"

namespace edgewise {

/// The meeting point of threads that act as processes: each leaves a tensor for the others, and all read them.
class MeetingPoint {
 public:
  explicit MeetingPoint(std::size_t size) : tensors_(size) {}

  std::size_t size() const { return tensors_.size(); }

  /// Passes the tensors of all threads to `read`, in the order of their ranks, when all threads have called this
  /// function, and returns when all have read. Throws LostProcessError if a thread has left.
  void exchange(std::size_t rank, const at::Tensor& tensor,
                const std::function<void(const std::vector<at::Tensor>&)>& read) {
    tensors_[rank] = tensor;
    wait();
    read(tensors_);
    wait();
  }

  /// Ends all present and later exchanges.
  void leave() {
    const std::lock_guard lock(mutex_);
    has_left_ = true;
    changed_.notify_all();
  }

 private:
  void wait() {
    std::unique_lock lock(mutex_);
    const std::int64_t round = round_;
    if (++num_waiting_ == tensors_.size()) {
      num_waiting_ = 0;
      ++round_;
      changed_.notify_all();
    }
    changed_.wait(lock, [&] { return round_ != round || has_left_; });
    if (round_ == round) throw LostProcessError("MeetingPoint: a thread has left, needs all threads");
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<at::Tensor> tensors_;
  std::size_t num_waiting_ = 0;
  std::int64_t round_ = 0;
  bool has_left_ = false;
};

/// A thread that acts as a process.
class ThreadProcess : public ProcessGroup {
 public:
  ThreadProcess(std::shared_ptr<MeetingPoint> others, std::size_t rank) : others_(std::move(others)), rank_(rank) {}

  std::int64_t rank() const override { return static_cast<std::int64_t>(rank_); }
  std::int64_t size() const override { return static_cast<std::int64_t>(others_->size()); }

  std::unique_ptr<Pending> begin_all_to_all(const at::Tensor& input, const at::Tensor& output) override {
    others_->exchange(rank_, input, [&](const std::vector<at::Tensor>& inputs) {
      for (std::size_t i = 0; i < inputs.size(); ++i) part(output, i).copy_(part(inputs[i], rank_));
    });
    return std::make_unique<Done>();
  }
  std::unique_ptr<Pending> begin_all_gather(const at::Tensor& input, const at::Tensor& output) override {
    others_->exchange(rank_, input, [&](const std::vector<at::Tensor>& inputs) { copy_parts(inputs, output); });
    return std::make_unique<Done>();
  }
  void broadcast(const at::Tensor& tensor, std::int64_t root) override {
    others_->exchange(rank_, tensor, [&](const std::vector<at::Tensor>& tensors) {
      if (rank() != root) tensor.copy_(tensors[static_cast<std::size_t>(root)]);
    });
  }
  void gather(const at::Tensor& input, const at::Tensor& output, std::int64_t root) override {
    others_->exchange(rank_, input, [&](const std::vector<at::Tensor>& inputs) {
      if (rank() == root) copy_parts(inputs, output);
    });
  }
  void scatter(const at::Tensor& input, const at::Tensor& output, std::int64_t root) override {
    others_->exchange(rank_, input, [&](const std::vector<at::Tensor>& inputs) {
      output.view(-1).copy_(part(inputs[static_cast<std::size_t>(root)], rank_));
    });
  }

 private:
  class Done : public Pending {
   public:
    void wait() override {}
  };

  at::Tensor part(const at::Tensor& whole, std::size_t number) const {
    return whole.view({size(), -1})[static_cast<std::int64_t>(number)];
  }
  void copy_parts(const std::vector<at::Tensor>& inputs, const at::Tensor& output) const {
    for (std::size_t i = 0; i < inputs.size(); ++i) part(output, i).copy_(inputs[i].view(-1));
  }

  std::shared_ptr<MeetingPoint> others_;
  std::size_t rank_;
};

/// Calls `work` in `size` threads that act as the processes of a group, and rethrows the first error of a thread that
/// is no LostProcessError.
inline void run_as_processes(std::int64_t size, const std::function<void(ProcessGroup&)>& work) {
  const auto meeting_point = std::make_shared<MeetingPoint>(static_cast<std::size_t>(size));
  std::mutex mutex;
  std::exception_ptr cause;
  std::exception_ptr consequence;
  const auto run = [&](std::size_t rank) {
    ThreadProcess process(meeting_point, rank);
    try {
      work(process);
      return;
    } catch (const LostProcessError&) {
      const std::lock_guard lock(mutex);
      consequence = std::current_exception();
    } catch (...) {
      const std::lock_guard lock(mutex);
      cause = std::current_exception();
    }
    meeting_point->leave();
  };
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < meeting_point->size(); ++rank) threads.emplace_back(run, rank);
  for (std::thread& thread : threads) thread.join();
  if (cause) std::rethrow_exception(cause);
  if (consequence) std::rethrow_exception(consequence);
}

}  // namespace edgewise
