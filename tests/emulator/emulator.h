// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "edgewise/base/device_failure.h"
#include "edgewise/kernels/gpu/call_site.h"

// Runs kernels on the CPU: a block is a set of fibers, one for each thread. A fiber runs until a collective, and a
// scheduler chooses the next one (schedule.h), so that one run of the kernel is one of the possible interleavings of a
// device. Several blocks run at a time, in num_threads() (base/threads.h) threads.
//
// The emulator finds collectives that not all threads reach, misaligned and incomplete copies, and memory outside of
// the block's shared memory. Shared memory is filled with NaN (0xFF) at first and from copy_async() until
// wait_for_copies(). AddressSanitizer reports accesses out of bounds, and to memory that a copy still writes;
// ThreadSanitizer reports accesses that no barrier orders.
namespace edgewise::kernels::gpu::emulator {

/// The exception of launch() for an error of a kernel: <kernel>, block <b>: <error>.
class KernelFault : public DeviceFailure {
 public:
  using DeviceFailure::DeviceFailure;
};

struct LaunchSizes {
  const char* kernel = "";
  int num_blocks = 0;  // in each row of the grid
  int num_rows = 1;
  int num_threads = 0;  // threads of a block
  std::size_t shared_bytes = 0;
};

/// A kernel without its type: call(kernel) is the work of one thread.
struct KernelCall {
  void (*call)(const void* kernel);
  const void* kernel;
};

/// Runs all blocks, and returns when they have ended. Throws KernelFault, or the first exception of the kernel.
void launch(const LaunchSizes& sizes, const KernelCall& kernel);

// The following functions are those of device_emulated.h without templates. Only fibers call these functions.

int thread_index();
int block_index();
int block_index_y();
int num_blocks();
void* shared_memory(std::size_t size);

void synchronize_block(const CallSite& site);
void synchronize_named_barrier(int barrier, int num_threads, const CallSite& site);
void synchronize_warp(std::uint32_t lanes, const CallSite& site);

std::uint32_t shuffle(std::uint32_t value, int source, std::uint32_t lanes, const CallSite& site);
std::uint32_t ballot(bool value, std::uint32_t lanes, const CallSite& site);
void load_matrices(std::span<std::uint32_t> out, const void* row, bool is_transposed, const CallSite& site);
void multiply_tiles(float (&sum)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2], const CallSite& site);

/// Copies zeros if `from` is null.
void copy_async(void* to, const void* from, int bytes, const CallSite& site);
void commit_copies();
void wait_for_copies(int pending);

void expect_aligned(const void* address, int bytes, const CallSite& site);

std::uint32_t pack_bf16(float low, float high);

/// Returns zero of the same sign instead of a subnormal number.
float flush_subnormal(float x);

}  // namespace edgewise::kernels::gpu::emulator
