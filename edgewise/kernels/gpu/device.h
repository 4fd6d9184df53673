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
//       // Optional: blocks that must fit on a multiprocessor at once; default 1.
//       static constexpr int kResidentBlocks = 3;
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
// Kernels call the functions of this header, and constexpr functions (philox(), BFloat16), and no CUDA names.
//
// A collective is a function that several threads must reach together. The emulator reports the line if they do not. A
// function that calls collectives takes a CallSite (call_site.h) as its last parameter and passes it on.
// Kernels contain no products that a compiler may contract with sums: nvcc_options.txt forbids contraction, and
// fused_multiply_add() is explicit. So the device and the emulator have the same bits, except after functions whose
// names end in approximate, and after multiply_tiles(), whose sums have no specified order.
namespace edgewise::kernels::gpu {

inline constexpr int kWarpSize = 32;

/// A set of lanes of a warp: bit i is lane i.
using LaneMask = std::uint32_t;
inline constexpr LaneMask kAllLanes = 0xFFFFFFFF;

/// The type of a value that lanes exchange: 32 bits.
template <typename T>
concept Word = sizeof(T) == sizeof(std::uint32_t) && std::is_trivially_copyable_v<T>;

/// 16 bytes that are loaded and stored at once.
struct alignas(16) Quad {
  std::uint32_t words[4];
};

/// The blocks of a launch: `blocks` blocks in each of `rows` rows; at most kMaxGridRows rows. A kernel whose blocks
/// need two numbers has them as block_index() and block_index_y(): to divide one number takes some 30 instructions.
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

// Both device_cuda.h and device_emulated.h define the following macros and functions. A CallSite, the last parameter of
// many of them, is left out here.
//
// EDGEWISE_DEVICE declares a function of the device; EDGEWISE_UNROLL unrolls the loop that follows, on the device.
//
// int thread_index(), block_index(), block_index_y(), num_blocks()
//     Return the index of the thread in its block, the index of the block in its row of the grid, the number of this
//     row, and the number of blocks in a row.
//
// Shared& shared_memory<Shared>()
//     Returns the shared memory of the block, whose content is undefined at first. It begins at a multiple of 128
//     bytes.
//
// void synchronize_block()
//     Waits for all threads of the block. Writes to memory before the barrier are visible after it. All threads reach
//     the same line, and none has ended.
//
// void synchronize_named_barrier(int barrier, int num_threads)
//     Waits for `num_threads` threads of the block, a multiple of kWarpSize, that give the same number of a barrier,
//     from 1 to 15.
//
// void synchronize_warp(LaneMask lanes = kAllLanes)
//     Waits for the lanes of the warp, whose writes to memory are then visible to each other.
//
// T shuffle(T value, int source, LaneMask lanes = kAllLanes)
//     Returns the value of lane `source`, which is one of `lanes`. All of `lanes` reach the same line.
//
// T shuffle_xor(T value, int distance, LaneMask lanes = kAllLanes)
//     Returns the value of the lane whose number is this lane's number xor `distance`.
//
// LaneMask ballot(bool value, LaneMask lanes = kAllLanes)
//     Returns the lanes whose value is true.
//
// void copy_async<kBytes>(void* to, const void* from, bool is_valid = true)
//     Begins to copy kBytes from global to shared memory, or to write zeros if !is_valid; `from` is then not read. Both
//     addresses are multiples of kBytes: 4, 8 or 16. The bytes at `to` are undefined until wait_for_copies() and, for
//     other threads, a barrier after it.
//
// void commit_copies()
//     Makes the copies that this thread has begun since the last commit a group.
//
// void wait_for_copies<kPending>()
//     Waits until at most the kPending latest groups of this thread are incomplete. No copy is incomplete when a thread
//     ends.
//
// void load_matrices(std::uint32_t (&out)[kMatrices], const void* row)
//     Loads 2 or 4 8x8 matrices of 16-bit numbers from shared memory, one for each word. Lane i gives the address of
//     row i % 8 of matrix i / 8, a multiple of 16 bytes; the addresses of further lanes are ignored. Lane i receives
//     the numbers 2 (i % 4) and 2 (i % 4) + 1 of row i / 4: the layout of multiply_tiles().
//
// void load_matrices_transposed(std::uint32_t (&out)[kMatrices], const void* row)
//     Loads the transposes of the matrices: lane i receives numbers i / 4 of the rows 2 (i % 4) and 2 (i % 4) + 1.
//
// void multiply_tiles(float (&sum)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2])
//     Adds the product of a (16 rows, 16 columns) and b (16 rows, 8 columns), of BFloat16, to `sum` (16 rows, 8
//     columns). A word has two consecutive numbers of a row of a, or of a column of b. Lane i has, with g = i / 4 and
//     t = 2 (i % 4):
//
//         a[0]: a[g, t]    a[1]: a[g + 8, t]    a[2]: a[g, t + 8]    a[3]: a[g + 8, t + 8]
//         b[0]: b[t, g]    b[1]: b[t + 8, g]
//         sum[0], sum[1]: sum[g, t], sum[g, t + 1]    sum[2], sum[3]: sum[g + 8, t], sum[g + 8, t + 1]
//
//     The products are exact. The order and the rounding of their sum are unspecified.
//
// std::uint32_t pack_bf16(float low, float high)
//     Rounds to nearest, ties to even, and returns the bits of both as the lower and upper half of a word. The bits of
//     a NaN are 0x7FFF.
//
// float fused_multiply_add(float a, float b, float c)
//     Returns a * b + c with a single rounding.
//
// float square_root(float x), double square_root(double x)
//     Return the square root of a number that is not negative, rounded to nearest.
//
// int count_bits(std::uint32_t word), count_bits(std::uint64_t word)
//     Return the number of bits that are 1. nvcc compiles std::popcount() to nothing.
//
// float exp2_approximate(float x)
//     Returns 2^x with a relative error of at most 2^-22 on devices; 0 for -infinity, and for results below 2^-126.
//
// float log2_approximate(float x)
//     Returns the logarithm to base 2 with an absolute error of at most 2^-22 for x in [0.5, 2], else a relative error
//     of at most 2^-22, on devices; -infinity for 0 and for x below 2^-126.
//
// float reciprocal_approximate(float x)
//     Returns 1 / x with a relative error of at most 2^-23 on devices; 0 for results below 2^-126, infinity for an x
//     below 2^-126.
//
// std::uint32_t atomic_add(std::uint32_t* at, std::uint32_t value)
//     Adds to a number in global or shared memory and returns the number before.
//
// void expect_aligned<kBytes>(const void* address)
//     Lets the emulator report an address that is no multiple of kBytes: a device cannot load or store kBytes there at
//     once.
//
// void launch(const K& kernel, Grid grid, device::Stream stream)
//     Runs a kernel in the blocks of `grid`, asynchronously on a device. Throws std::runtime_error, with the name of
//     the kernel, if the kernel cannot start. An error within the kernel is an exception of a later call on a device,
//     such as device::wait_for(), and of this one in the emulator.

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
