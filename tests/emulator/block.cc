// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/block.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

#include "tests/emulator/sanitizers.h"

namespace edgewise::kernels::gpu::emulator {
namespace {

constexpr int kLanesOfWarp = 32;
constexpr std::align_val_t kSharedAlignment{128};
constexpr int kUndefined = 0xFF;  // a float of these bytes is NaN

thread_local Lane* running_lane = nullptr;

std::string describe_wait(const Lane& lane) {
  if (lane.state == LaneState::kEnded) return "ended";
  if (lane.state == LaneState::kReady) return "run";
  return fmt::format("wait in {} at {}", lane.collective.name, to_string(lane.collective.site));
}

bool is_same_line(const CallSite& a, const CallSite& b) {
  return a.line == b.line && std::string_view(a.file) == b.file;
}

}  // namespace

Lane& current_lane() {
  if (running_lane == nullptr) throw KernelFault("current_lane: no kernel runs, needs a call within a kernel");
  return *running_lane;
}

Block::Block(const LaunchSizes& sizes, const KernelCall& kernel, const Schedule& schedule)
    : sizes_(sizes),
      kernel_(kernel),
      order_(schedule, sizes.num_threads),
      lanes_(static_cast<std::size_t>(sizes.num_threads)),
      warp_memory_(static_cast<std::size_t>(sizes.num_threads / kLanesOfWarp)) {
  for (int i = 0; i < sizes.num_threads; ++i) {
    Lane& lane = lanes_[static_cast<std::size_t>(i)];
    lane.block = this;
    lane.index = i;
    lane.fiber = std::make_unique<Fiber>(
        [](void* context) {
          Lane& self = *static_cast<Lane*>(context);
          self.block->run_lane_forever(self);
        },
        &lane);
  }
}

Block::~Block() {
  is_finished_ = true;
  for (Lane& lane : lanes_) lane.fiber->resume();
}

void Block::FreeShared::operator()(unsigned char* at) const { ::operator delete(at, kSharedAlignment); }

void Block::run(int index) {
  index_ = index;
  // The size is exact, so that AddressSanitizer finds accesses after the end.
  shared_.reset(static_cast<unsigned char*>(::operator new(sizes_.shared_bytes, kSharedAlignment)));
  std::memset(shared_.get(), kUndefined, sizes_.shared_bytes);
  error_ = nullptr;
  is_abandoned_ = false;
  order_.begin_block(index);
  for (Lane& lane : lanes_) make_ready(lane);
  release_memory(&begin_memory_);
  try {
    run_lanes();
  } catch (...) {
    error_ = std::current_exception();
  }
  if (error_ != nullptr) abandon_lanes();
  acquire_memory(&end_memory_);
  shared_.reset();
  if (error_ != nullptr) std::rethrow_exception(error_);
}

void Block::run_lanes() {
  for (int lane = order_.take(); lane >= 0; lane = order_.take()) {
    resume(lanes_[static_cast<std::size_t>(lane)]);
    if (error_ != nullptr) return;
  }
  if (!all_ended()) fail("no thread can go on: " + describe_lanes());
}

void Block::abandon_lanes() {
  is_abandoned_ = true;
  for (Lane& lane : lanes_) {
    if (lane.state != LaneState::kEnded) lane.fiber->resume();
  }
}

void Block::resume(Lane& lane) {
  running_lane = &lane;
  lane.fiber->resume();
  running_lane = nullptr;
  if (error_ == nullptr) release_if_complete(lane);
}

void Block::run_lane_forever(Lane& lane) {
  while (!is_finished_) {
    if (!is_abandoned_) run_kernel(lane);
    lane.state = LaneState::kEnded;
    lane.fiber->suspend();
  }
}

void Block::run_kernel(Lane& lane) {
  acquire_memory(&begin_memory_);
  try {
    kernel_.call(kernel_.kernel);
    if (!lane.copies.empty()) fail(fmt::format("thread {} ends before its copies are complete", lane.index));
  } catch (const Abandoned&) {
    // another lane, or the scheduler, has the error
  } catch (...) {
    if (error_ == nullptr) error_ = std::current_exception();
  }
  lane.copies.clear();
  lane.open_group = 0;
  release_memory(&end_memory_);
}

void Block::wait(Lane& lane) {
  lane.fiber->suspend();
  if (is_abandoned_) throw Abandoned();
}

void Block::release_if_complete(const Lane& last) {
  if (last.state == LaneState::kAtWarpCollective) release_warp(last);
  if (last.state == LaneState::kAtBarrier) release_barrier(last);
}

void Block::release_warp(const Lane& last) {
  const std::uint32_t lanes = last.collective.lanes;
  Lane* warp = lanes_.data() + std::ptrdiff_t{last.index / kLanesOfWarp} * kLanesOfWarp;
  WarpOperands* operands[kLanesOfWarp];
  for (int i = 0; i < kLanesOfWarp; ++i) {
    operands[i] = &warp[i].operands;
    if ((lanes >> i & 1) == 0) continue;
    const Collective& other = warp[i].collective;
    if (warp[i].state != LaneState::kAtWarpCollective || other.lanes != lanes || other.run != last.collective.run ||
        !is_same_line(other.site, last.collective.site)) {
      return;
    }
  }
  if (last.collective.run != nullptr) last.collective.run(operands, lanes);
  for (int i = 0; i < kLanesOfWarp; ++i) {
    if ((lanes >> i & 1) != 0) make_ready(warp[i]);
  }
}

void Block::release_barrier(const Lane& last) {
  const Collective& barrier = last.collective;
  int waiting = 0;
  for (const Lane& lane : lanes_) {
    if (lane.state != LaneState::kAtBarrier || lane.collective.barrier != barrier.barrier) continue;
    ++waiting;
    if (lane.collective.num_threads != barrier.num_threads || !is_same_line(lane.collective.site, barrier.site)) {
      fail("threads wait for each other in different lines: " + describe_lanes());
    }
  }
  if (waiting < barrier.num_threads) return;
  const int number = barrier.barrier;
  for (Lane& lane : lanes_) {
    if (lane.state == LaneState::kAtBarrier && lane.collective.barrier == number) make_ready(lane);
  }
}

void Block::make_ready(Lane& lane) {
  lane.state = LaneState::kReady;
  order_.add(lane.index);
}

bool Block::all_ended() const {
  return std::all_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.state == LaneState::kEnded; });
}

std::string Block::describe_lanes() const {
  std::string text;
  for (std::size_t begin = 0; begin < lanes_.size();) {
    const std::string wait = describe_wait(lanes_[begin]);
    std::size_t end = begin + 1;
    while (end < lanes_.size() && describe_wait(lanes_[end]) == wait) ++end;
    text += text.empty() ? "" : ", ";
    text += end == begin + 1 ? fmt::format("thread {}: {}", begin, wait)
                             : fmt::format("threads {}-{}: {}", begin, end - 1, wait);
    begin = end;
  }
  return text;
}

void Block::fail(const std::string& error) const {
  throw KernelFault(fmt::format("{}, block {}: {}", sizes_.kernel, index_, error));
}

}  // namespace edgewise::kernels::gpu::emulator
