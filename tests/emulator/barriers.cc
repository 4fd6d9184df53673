// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <string_view>

#include "tests/emulator/block.h"
#include "tests/emulator/sanitizers.h"

// The functions that a fiber calls to wait for others.
namespace edgewise::kernels::gpu::emulator {
namespace {

constexpr int kLanesOfWarp = 32;
constexpr int kBarriers = 16;  // the number of a block's barriers on devices

void wait_at_barrier(const char* name, int barrier, int num_threads, const CallSite& site) {
  Lane& lane = current_lane();
  void* const memory = lane.block->barrier_memory(barrier);
  lane.collective = {.name = name, .site = site, .barrier = barrier, .num_threads = num_threads};
  lane.state = LaneState::kAtBarrier;
  release_memory(memory);
  lane.block->wait(lane);
  acquire_memory(memory);
}

}  // namespace

int thread_index() { return current_lane().index; }
int block_index() { return current_lane().block->index() % num_blocks(); }
int block_index_y() { return current_lane().block->index() / num_blocks(); }
int num_blocks() { return current_lane().block->sizes().num_blocks; }

void* shared_memory(std::size_t size) {
  Block& block = *current_lane().block;
  if (size != block.sizes().shared_bytes) {
    block.fail(fmt::format("shared_memory: the type has {} bytes, needs those of Shared, {}", size,
                           block.sizes().shared_bytes));
  }
  return block.shared();
}

void synchronize_block(const CallSite& site) {
  wait_at_barrier("synchronize_block", 0, current_lane().block->sizes().num_threads, site);
}

void synchronize_named_barrier(int barrier, int num_threads, const CallSite& site) {
  if (barrier < 1 || barrier >= kBarriers) {
    fail_in_kernel(fmt::format("synchronize_named_barrier: barrier is {}, needs 1 to {}", barrier, kBarriers - 1),
                   site);
  }
  const int most = current_lane().block->sizes().num_threads;
  if (num_threads < kLanesOfWarp || num_threads > most || num_threads % kLanesOfWarp != 0) {
    fail_in_kernel(fmt::format("synchronize_named_barrier: num_threads is {}, needs a multiple of {} up to {}",
                               num_threads, kLanesOfWarp, most),
                   site);
  }
  wait_at_barrier("synchronize_named_barrier", barrier, num_threads, site);
}

void synchronize_warp(std::uint32_t lanes, const CallSite& site) {
  const Lane& lane = current_lane();
  void* const memory = lane.block->warp_memory(lane.index / kLanesOfWarp);
  release_memory(memory);
  wait_in_warp("synchronize_warp", nullptr, lanes, site);
  acquire_memory(memory);
}

void wait_in_warp(const char* name, WarpFunction run, std::uint32_t lanes, const CallSite& site) {
  Lane& lane = current_lane();
  if ((lanes >> lane.index % kLanesOfWarp & 1) == 0) {
    fail_in_kernel(fmt::format("{}: lanes are {:#010x}, need the calling thread {}", name, lanes, lane.index), site);
  }
  lane.collective = {.name = name, .site = site, .lanes = lanes, .run = run};
  lane.state = LaneState::kAtWarpCollective;
  lane.block->wait(lane);
}

void fail_in_kernel(const std::string& error, const CallSite& site) {
  current_lane().block->fail(fmt::format("{} ({})", error, to_string(site)));
}

std::string to_string(const CallSite& site) {
  const std::string_view file = site.file;
  return fmt::format("{}:{}", file.substr(file.rfind('/') + 1), site.line);
}

void check_shared(const void* at, int bytes, const char* name, const CallSite& site) {
  Block& block = *current_lane().block;
  const auto begin = reinterpret_cast<std::uintptr_t>(block.shared());
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  if (address < begin || address + bytes > begin + block.sizes().shared_bytes) {
    fail_in_kernel(fmt::format("{}: the address is outside of the block's shared memory", name), site);
  }
  if (address % bytes != 0) {
    fail_in_kernel(fmt::format("{}: the address in shared memory is no multiple of {} bytes", name, bytes), site);
  }
}

}  // namespace edgewise::kernels::gpu::emulator
