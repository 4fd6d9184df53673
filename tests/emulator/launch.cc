// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "edgewise/base/threads.h"
#include "tests/emulator/block.h"
#include "tests/emulator/emulator.h"
#include "tests/emulator/launch_record.h"

namespace edgewise::kernels::gpu::emulator {
namespace {

// The exception of the lowest block that failed.
class FirstError {
 public:
  void set(int block, std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (error_ == nullptr || block < block_) {
      block_ = block;
      error_ = std::move(error);
    }
  }

  void rethrow() const {
    if (error_ != nullptr) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  int block_ = 0;
  std::exception_ptr error_;
};

// Runs every `step`-th block from `first` on. Neighbouring blocks, which are likeliest to write to the same memory, run
// in different threads, because ThreadSanitizer finds no race between the blocks of one thread.
void run_blocks(Block& block, const Schedule& schedule, int first, int step, FirstError& error) {
  const int num_blocks = block.sizes().num_blocks * block.sizes().num_rows;
  for (int i = first; i < num_blocks; i += step) {
    const int index = schedule.order == Order::kReversed ? num_blocks - 1 - i : i;
    try {
      block.run(index);
    } catch (...) {
      error.set(index, std::current_exception());
      return;
    }
  }
}

}  // namespace

void launch(const LaunchSizes& sizes, const KernelCall& kernel) {
  const int num_blocks = sizes.num_blocks * sizes.num_rows;
  if (num_blocks > 0) LaunchRecord::add(sizes.kernel);
  const Schedule schedule = current_schedule();
  const int num_workers = std::min(num_threads(), num_blocks);
  // All fibers exist before a thread starts: the lock of their stacks would order the threads for ThreadSanitizer.
  std::vector<std::unique_ptr<Block>> blocks;
  blocks.reserve(static_cast<std::size_t>(std::max(num_workers, 0)));
  for (int worker = 0; worker < num_workers; ++worker) {
    blocks.push_back(std::make_unique<Block>(sizes, kernel, schedule));
  }
  FirstError error;
  {
    std::vector<std::jthread> workers;
    for (int worker = 1; worker < num_workers; ++worker) {
      workers.emplace_back([&, worker] { run_blocks(*blocks[worker], schedule, worker, num_workers, error); });
    }
    if (num_workers > 0) run_blocks(*blocks[0], schedule, 0, num_workers, error);
  }
  error.rethrow();
}

}  // namespace edgewise::kernels::gpu::emulator
