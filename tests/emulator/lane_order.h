// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "tests/emulator/schedule.h"

namespace edgewise::kernels::gpu::emulator {

/// Chooses the lane of a block that runs next, by the order of a schedule.
class LaneOrder {
 public:
  LaneOrder(const Schedule& schedule, int num_lanes);

  /// Begins a block; no lane is ready.
  void begin_block(int block);

  /// Makes a lane ready to run.
  void add(int lane) { ready_[static_cast<std::size_t>(lane / kLanesOfWarp)] |= 1u << lane % kLanesOfWarp; }

  /// Removes a ready lane and returns its number; -1 if none is ready.
  int take();

 private:
  static constexpr int kLanesOfWarp = 32;

  int num_warps() const { return static_cast<int>(ready_.size()); }
  bool is_ready(int warp) const { return ready_[static_cast<std::size_t>(warp)] != 0; }
  int choose() const;
  int next_in_order() const;
  int next_reversed() const;
  int first() const;
  int last_of_warp(int warp) const;
  int last_of_current_warp() const;
  int random_lane();

  Order order_;
  std::uint64_t seed_;
  std::vector<std::uint32_t> ready_;  // the ready lanes of each warp
  int current_ = -1;                  // the lane that ran last
  std::mt19937_64 random_;
};

}  // namespace edgewise::kernels::gpu::emulator
