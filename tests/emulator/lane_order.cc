// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/lane_order.h"

#include <bit>

namespace edgewise::kernels::gpu::emulator {
namespace {

// A random order changes the warp after this many steps on average, so that a warp may run far ahead of the others.
constexpr std::uint64_t kStepsOfWarp = 200;

}  // namespace

LaneOrder::LaneOrder(const Schedule& schedule, int num_lanes)
    : order_(schedule.order), seed_(schedule.seed), ready_(static_cast<std::size_t>(num_lanes / kLanesOfWarp)) {}

void LaneOrder::begin_block(int block) {
  for (std::uint32_t& lanes : ready_) lanes = 0;
  current_ = -1;
  if (order_ == Order::kRandom) random_.seed(seed_ + static_cast<std::uint64_t>(block) * 0x9E3779B97F4A7C15);
}

int LaneOrder::take() {
  const int lane = order_ == Order::kRandom ? random_lane() : choose();
  if (lane < 0) return lane;
  ready_[static_cast<std::size_t>(lane / kLanesOfWarp)] &= ~(1u << lane % kLanesOfWarp);
  current_ = lane;
  return lane;
}

int LaneOrder::choose() const {
  switch (order_) {
    case Order::kReversed:
      return next_reversed();
    case Order::kWarpWise:
      return first();
    case Order::kBarrierEager:
      return last_of_current_warp();
    case Order::kInOrder:
    case Order::kRandom:
      break;
  }
  return next_in_order();
}

int LaneOrder::first() const {
  for (int warp = 0; warp < num_warps(); ++warp) {
    if (is_ready(warp)) return warp * kLanesOfWarp + std::countr_zero(ready_[static_cast<std::size_t>(warp)]);
  }
  return -1;
}

// Returns the first ready lane after the current one; after the last lane is the first one.
int LaneOrder::next_in_order() const {
  const int begin = current_ + 1;
  for (int warp = begin / kLanesOfWarp; warp < num_warps(); ++warp) {
    std::uint32_t lanes = ready_[static_cast<std::size_t>(warp)];
    if (warp == begin / kLanesOfWarp) lanes &= ~std::uint32_t{0} << begin % kLanesOfWarp;
    if (lanes != 0) return warp * kLanesOfWarp + std::countr_zero(lanes);
  }
  return first();
}

int LaneOrder::last_of_warp(int warp) const {
  return warp * kLanesOfWarp + std::bit_width(ready_[static_cast<std::size_t>(warp)]) - 1;
}

// Returns the last ready lane before the current one; before the first lane is the last one.
int LaneOrder::next_reversed() const {
  for (int warp = current_ < 0 ? -1 : current_ / kLanesOfWarp; warp >= 0; --warp) {
    std::uint32_t lanes = ready_[static_cast<std::size_t>(warp)];
    if (warp == current_ / kLanesOfWarp) lanes &= (1u << current_ % kLanesOfWarp) - 1;
    if (lanes != 0) return warp * kLanesOfWarp + std::bit_width(lanes) - 1;
  }
  for (int warp = num_warps() - 1; warp >= 0; --warp) {
    if (is_ready(warp)) return last_of_warp(warp);
  }
  return -1;
}

// The lane that ran last is the one that completed a barrier, and its warp goes on.
int LaneOrder::last_of_current_warp() const {
  if (current_ >= 0 && is_ready(current_ / kLanesOfWarp)) return last_of_warp(current_ / kLanesOfWarp);
  for (int warp = num_warps() - 1; warp >= 0; --warp) {
    if (is_ready(warp)) return last_of_warp(warp);
  }
  return -1;
}

int LaneOrder::random_lane() {
  if (first() < 0) return -1;
  int warp = current_ / kLanesOfWarp;
  if (current_ < 0 || random_() % kStepsOfWarp == 0 || !is_ready(warp)) {
    do {
      warp = static_cast<int>(random_() % ready_.size());
    } while (!is_ready(warp));
  }
  const std::uint32_t lanes = ready_[static_cast<std::size_t>(warp)];
  int lane = static_cast<int>(random_() % kLanesOfWarp);
  while ((lanes >> lane & 1) == 0) lane = (lane + 1) % kLanesOfWarp;
  return warp * kLanesOfWarp + lane;
}

}  // namespace edgewise::kernels::gpu::emulator
