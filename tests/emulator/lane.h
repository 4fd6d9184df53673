// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "edgewise/kernels/gpu/call_site.h"
#include "tests/emulator/fiber.h"

namespace edgewise::kernels::gpu::emulator {

class Block;

/// The words that a lane gives to a collective of its warp, and receives from it.
struct WarpOperands {
  std::array<std::uint32_t, 10> words{};
  int source_lane = 0;
};

/// Computes a collective of a warp from the operands of its lanes: `operands` has kWarpSize elements. Only those of
/// `lanes` take part.
using WarpFunction = void (*)(WarpOperands* const* operands, std::uint32_t lanes);

/// A copy that has begun.
struct Copy {
  unsigned char* to;
  const unsigned char* from;  // null: zeros
  int bytes;
  int group;
};

enum class LaneState { kReady, kAtWarpCollective, kAtBarrier, kEnded };

/// The collective that a lane waits in.
struct Collective {
  const char* name = "";
  CallSite site;
  std::uint32_t lanes = 0;  // take part in a warp's collective
  WarpFunction run = nullptr;
  int barrier = 0;      // number of a barrier
  int num_threads = 0;  // wait for each other at a barrier
};

/// A thread of a block.
struct Lane {
  Block* block = nullptr;
  int index = 0;  // in the block
  LaneState state = LaneState::kEnded;
  Collective collective;
  WarpOperands operands;
  std::vector<Copy> copies;
  int open_group = 0;  // the group of the next copy
  std::unique_ptr<Fiber> fiber;
};

/// Returns the lane that runs. Throws KernelFault outside of a kernel.
Lane& current_lane();

/// Waits in a collective of the warp until all of its lanes wait there; `name` is for reports.
void wait_in_warp(const char* name, WarpFunction run, std::uint32_t lanes, const CallSite& site);

/// Throws KernelFault with the name of the kernel and the block.
[[noreturn]] void fail_in_kernel(const std::string& error, const CallSite& site);

/// Returns the file, without its folder, and the line.
std::string to_string(const CallSite& site);

/// Throws KernelFault unless [at, at + bytes) is in the block's shared memory, at a multiple of `bytes`.
void check_shared(const void* at, int bytes, const char* name, const CallSite& site);

}  // namespace edgewise::kernels::gpu::emulator
