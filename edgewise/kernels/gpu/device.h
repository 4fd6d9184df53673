// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "edgewise/device/stream.h"
#include "edgewise/kernels/gpu/call_site.h"
#include "edgewise/kernels/gpu/limits.h"

// The language in which kernels for GPUs are written. nvcc compiles a kernel for the device. For tests, any compiler
// compiles the same source for the emulator on the CPU (tests/emulator/), which runs each thread of a block as a fiber.
// A kernel is a struct:
//
//     struct Scale {
//       static constexpr const char* kName = "scale";
//       static constexpr int kThreads = 128;  // threads of a block, a multiple of kWarpSize
//       static constexpr int kResidentBlocks = 3;  // optional: have registers on a multiprocessor at a time; else 1
//       struct Shared {};                     // the shared memory of a block
//
//       float* data;  // [count]
//       float factor;
//       std::int64_t count;
//
//       EDGEWISE_DEVICE void operator()() const {
//         const std::int64_t i = std::int64_t{block_index()} * kThreads + thread_index();
//         if (i < count) data[i] *= factor;
//       }
//     };
//
//     launch(Scale{data, 0.5f, count}, num_blocks, stream);
//
// Kernels call the functions of this header, and constexpr functions (philox(), BFloat16), and no CUDA names. Both
// device_cuda.h and device_emulated.h define:
//
//     EDGEWISE_DEVICE                declares a function of the device
//     EDGEWISE_UNROLL                unrolls the loop that follows, on the device
//     thread_index() block_index() block_row() num_blocks() shared_memory<Shared>()
//     synchronize_block() synchronize_group() synchronize_warp()
//     shuffle() shuffle_xor() ballot()
//     copy_async<bytes>() commit_copies() wait_copies<pending>()
//     load_matrices() load_matrices_transposed() multiply_tiles()
//     pack_bf16() fused_multiply_add() square_root() count_bits()
//     exp2_approximate() log2_approximate() reciprocal_approximate()
//     atomic_add() expect_aligned<bytes>()
//     launch()
//
// A collective is a function that several threads must reach together. The emulator reports the line if they do not. A
// function that calls collectives takes a CallSite (call_site.h) as its last parameter and passes it on.
// Kernels contain no products that a compiler may contract with sums: nvcc_options.txt forbids contraction, and
// fused_multiply_add() is explicit. So the device and the emulator have the same bits, except after functions whose
// names end in approximate, and after multiply_tiles(), whose sums have no specified order.
namespace edgewise::kernels::gpu {

inline constexpr int kWarpSize = 32;

/// A set of lanes of a warp: bit i is lane i.
using Lanes = std::uint32_t;
inline constexpr Lanes kAllLanes = 0xFFFFFFFF;

/// The type of a value that lanes exchange: 32 bits.
template <typename T>
concept Word = sizeof(T) == sizeof(std::uint32_t) && std::is_trivially_copyable_v<T>;

/// 16 bytes that are loaded and stored at once.
struct alignas(16) Quad {
  std::uint32_t words[4];
};

/// The blocks of a launch: `blocks` blocks in each of `rows` rows, of which there are at most kMaxGridRows. A kernel
/// whose blocks need two numbers has them as a block's index and row: to divide one number takes some 30 instructions.
struct Grid {
  int blocks;
  int rows;

  constexpr Grid(int num_blocks, int num_rows = 1) : blocks(num_blocks), rows(num_rows) {}
};

/// A block of an H100 or H200 has up to 227 KiB of shared memory (device::max_shared_memory() tells how much the
/// current GPU has), and the arguments of a kernel 4 KiB on any device.
template <typename K>
concept Kernel = std::is_trivially_copyable_v<K> && std::is_same_v<decltype(K::kName), const char* const> &&
                 (K::kThreads > 0) &&
                 (K::kThreads <= 1024) && (K::kThreads % kWarpSize == 0) &&
                 (sizeof(typename K::Shared) <= kMaxSharedMemory) && (sizeof(K) <= 4096);

}  // namespace edgewise::kernels::gpu

#ifdef __CUDACC__
#include "edgewise/kernels/gpu/device_cuda.h"
#else
#include EDGEWISE_DEVICE_LANGUAGE  // a header of the emulator, which runs kernels on the CPU in tests
#endif

namespace edgewise::kernels::gpu {

EDGEWISE_DEVICE int lane_index() { return thread_index() % kWarpSize; }
EDGEWISE_DEVICE int warp_index() { return thread_index() / kWarpSize; }

/// Returns the lower and upper half of a word as floats; each half is the bits of a BFloat16.
EDGEWISE_DEVICE float low_bf16(std::uint32_t pair) { return std::bit_cast<float>(pair << 16); }
EDGEWISE_DEVICE float high_bf16(std::uint32_t pair) { return std::bit_cast<float>(pair & 0xFFFF0000); }

/// Returns e^x with a relative error of at most 2^-22 + |x| 2^-22; 0 for -infinity, and for results below 2^-126.
EDGEWISE_DEVICE float exp_approximate(float x) {
  constexpr float kLog2OfE = 0x1.715476p0f;
  return exp2_approximate(x * kLog2OfE);
}

/// Returns the natural logarithm with the error of log2_approximate().
EDGEWISE_DEVICE float log_approximate(float x) {
  constexpr float kLogOf2 = 0x1.62E430p-1f;
  return log2_approximate(x) * kLogOf2;
}

// Reductions whose order of operations is fixed, so that results have the same bits in every run.

struct Sum {
  template <typename T>
  EDGEWISE_DEVICE T operator()(T a, T b) const {
    return a + b;
  }
};

struct Maximum {
  template <typename T>
  EDGEWISE_DEVICE T operator()(T a, T b) const {
    return a > b ? a : b;
  }
};

struct Minimum {
  template <typename T>
  EDGEWISE_DEVICE T operator()(T a, T b) const {
    return a < b ? a : b;
  }
};

struct BitOr {
  template <typename T>
  EDGEWISE_DEVICE T operator()(T a, T b) const {
    return a | b;
  }
};

/// Combines the values of each group of kLanes consecutive lanes, a power of 2. Every lane receives the result of its
/// group. A collective of the whole warp. Takes log2(kLanes) shuffles.
template <int kLanes = kWarpSize, Word T, class Combine>
EDGEWISE_DEVICE T reduce_lanes(T value, Combine combine, CallSite site = CallSite::current()) {
  static_assert(kLanes >= 1 && kLanes <= kWarpSize && (kLanes & (kLanes - 1)) == 0);
  EDGEWISE_UNROLL
  for (int distance = kLanes / 2; distance > 0; distance /= 2) {
    value = combine(value, shuffle_xor(value, distance, kAllLanes, site));
  }
  return value;
}

/// Combines the values of all threads of a block of kThreads. Every thread receives the result. `partial` is shared
/// memory. A collective of the block, which begins and ends with synchronize_block(), so that `partial` can be used
/// again.
template <int kThreads, Word T, class Combine>
EDGEWISE_DEVICE T reduce_block(T value, Combine combine, T (&partial)[kThreads / kWarpSize],
                               CallSite site = CallSite::current()) {
  value = reduce_lanes(value, combine, site);
  synchronize_block(site);
  if (lane_index() == 0) partial[warp_index()] = value;
  synchronize_block(site);
  value = partial[0];
  for (int warp = 1; warp < kThreads / kWarpSize; ++warp) value = combine(value, partial[warp]);
  return value;
}

}  // namespace edgewise::kernels::gpu
