// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "tests/emulator/emulator.h"
#include "tests/emulator/lane.h"
#include "tests/emulator/lane_order.h"

namespace edgewise::kernels::gpu::emulator {

/// Runs blocks of a launch, one after the other, with one fiber for each thread of a block.
class Block {
 public:
  Block(const LaunchSizes& sizes, const KernelCall& kernel, const Schedule& schedule);
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block();

  /// Runs block `index` to its end. Throws KernelFault, or the first exception of a lane.
  void run(int index);

  int index() const { return index_; }
  const LaunchSizes& sizes() const { return sizes_; }
  unsigned char* shared() { return shared_.get(); }

  /// Suspends the calling lane, whose state and collective say what it waits for.
  void wait(Lane& lane);

  /// Returns an address that stands for the memory of a warp, or of a barrier, for ThreadSanitizer.
  void* warp_memory(int warp) { return &warp_memory_[static_cast<std::size_t>(warp)]; }
  void* barrier_memory(int barrier) { return &barrier_memory_[static_cast<std::size_t>(barrier)]; }

  [[noreturn]] void fail(const std::string& error) const;

 private:
  // Unwinds the stack of a lane whose block has failed.
  struct Abandoned {};

  struct FreeShared {
    void operator()(unsigned char* at) const;
  };

  void run_lane_forever(Lane& lane);
  void run_kernel(Lane& lane);
  void run_lanes();
  void abandon_lanes();
  void resume(Lane& lane);
  void release_if_complete(const Lane& last);
  void release_warp(const Lane& last);
  void release_barrier(const Lane& last);
  void make_ready(Lane& lane);
  bool all_ended() const;
  std::string describe_lanes() const;

  const LaunchSizes sizes_;
  const KernelCall kernel_;
  LaneOrder order_;
  std::vector<Lane> lanes_;
  std::unique_ptr<unsigned char, FreeShared> shared_;
  std::exception_ptr error_;
  int index_ = 0;
  bool is_abandoned_ = false;
  bool is_finished_ = false;  // no further block follows
  // Addresses that ThreadSanitizer knows: the lanes are ordered after the begin of the block, and before its end.
  char begin_memory_ = 0;
  char end_memory_ = 0;
  std::vector<char> warp_memory_;
  std::array<char, 16> barrier_memory_{};
};

}  // namespace edgewise::kernels::gpu::emulator
