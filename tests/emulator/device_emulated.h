// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cmath>
#include <cstddef>

#include "edgewise/kernels/gpu/device.h"
#include "tests/emulator/emulator.h"
#include "tests/emulator/recording.h"

// The functions of device.h for the emulator. Errors of a kernel throw emulator::KernelFault from launch().

#define EDGEWISE_DEVICE inline
#define EDGEWISE_UNROLL

namespace edgewise::kernels::gpu {

inline int thread_index() { return emulator::thread_index(); }
inline int block_index() { return emulator::block_index(); }
inline int block_row() { return emulator::block_row(); }
inline int num_blocks() { return emulator::num_blocks(); }

/// Returns the shared memory of the block, whose content is undefined at first. It begins at a multiple of 128 bytes.
template <typename Shared>
Shared& shared_memory() {
  return *static_cast<Shared*>(emulator::shared_memory(sizeof(Shared)));
}

/// Waits for all threads of the block. Writes to memory before the barrier are visible behind it. All threads reach
/// the same line, and none has ended.
inline void synchronize_block(CallSite site = CallSite::current()) { emulator::synchronize_block(site); }

/// Waits for `num_threads` threads of the block, a multiple of kWarpSize, that give the same number of a barrier, from
/// 1 to 15.
inline void synchronize_group(int barrier, int num_threads, CallSite site = CallSite::current()) {
  emulator::synchronize_group(barrier, num_threads, site);
}

/// Waits for the lanes of the warp, whose writes to memory are then visible to each other.
inline void synchronize_warp(Lanes lanes = kAllLanes, CallSite site = CallSite::current()) {
  emulator::synchronize_warp(lanes, site);
}

/// Returns the value of lane `source`, which is one of `lanes`. All of `lanes` reach the same line.
template <Word T>
T shuffle(T value, int source, Lanes lanes = kAllLanes, CallSite site = CallSite::current()) {
  return std::bit_cast<T>(emulator::shuffle(std::bit_cast<std::uint32_t>(value), source, lanes, site));
}

/// Returns the value of the lane whose number is this lane's number xor `distance`.
template <Word T>
T shuffle_xor(T value, int distance, Lanes lanes = kAllLanes, CallSite site = CallSite::current()) {
  return shuffle(value, emulator::thread_index() % kWarpSize ^ distance, lanes, site);
}

/// Returns the lanes whose value is true.
inline Lanes ballot(bool value, Lanes lanes = kAllLanes, CallSite site = CallSite::current()) {
  return emulator::ballot(value, lanes, site);
}

/// Begins to copy kBytes from global to shared memory, or to write zeros if !is_valid; `from` is then not read. Both
/// addresses are multiples of kBytes: 4, 8 or 16. The bytes at `to` are undefined until wait_copies() and, for other
/// threads, a barrier behind it.
template <int kBytes>
void copy_async(void* to, const void* from, bool is_valid = true, CallSite site = CallSite::current()) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16);
  emulator::copy_async(to, is_valid ? from : nullptr, kBytes, site);
}

/// Makes the copies that this thread has begun since the last commit a group.
inline void commit_copies() { emulator::commit_copies(); }

/// Waits until at most the kPending latest groups of this thread are incomplete. No copy is incomplete when a thread
/// ends.
template <int kPending>
void wait_copies() {
  static_assert(kPending >= 0);
  emulator::wait_copies(kPending);
}

/// Loads 8x8 matrices of 16-bit numbers from shared memory, one for each word. Lane i gives the address of row i % 8 of
/// matrix i / 8, a multiple of 16 bytes; the addresses of further lanes are ignored. Lane i receives the numbers
/// 2 (i % 4) and 2 (i % 4) + 1 of row i / 4: the layout of multiply_tiles().
template <std::size_t kMatrices>
void load_matrices(std::uint32_t (&out)[kMatrices], const void* row, CallSite site = CallSite::current()) {
  emulator::load_matrices(out, row, /*is_transposed=*/false, site);
}

/// Loads the transposes of the matrices: lane i receives numbers i / 4 of the rows 2 (i % 4) and 2 (i % 4) + 1.
template <std::size_t kMatrices>
void load_matrices_transposed(std::uint32_t (&out)[kMatrices], const void* row, CallSite site = CallSite::current()) {
  emulator::load_matrices(out, row, /*is_transposed=*/true, site);
}

/// Adds the product of a (16 rows, 16 columns) and b (16 rows, 8 columns), of BFloat16, to `sum` (16 rows, 8 columns).
/// A word has two consecutive numbers of a row of a, or of a column of b. Lane i has, with g = i / 4 and t = 2 (i % 4):
///
///     a[0]: a[g, t]    a[1]: a[g + 8, t]    a[2]: a[g, t + 8]    a[3]: a[g + 8, t + 8]
///     b[0]: b[t, g]    b[1]: b[t + 8, g]
///     sum[0], sum[1]: sum[g, t], sum[g, t + 1]    sum[2], sum[3]: sum[g + 8, t], sum[g + 8, t + 1]
///
/// The products are exact. The order and the rounding of their sum are unspecified.
inline void multiply_tiles(float (&sum)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
                           CallSite site = CallSite::current()) {
  emulator::multiply_tiles(sum, a, b, site);
}

/// Rounds to nearest, ties to even, and returns the bits of both as the lower and upper half of a word. The bits of a
/// NaN are 0x7FFF.
inline std::uint32_t pack_bf16(float low, float high) { return emulator::pack_bf16(low, high); }

/// Returns a * b + c with a single rounding.
inline float fused_multiply_add(float a, float b, float c) { return std::fma(a, b, c); }

/// Returns the square root of a number that is not negative, rounded to nearest.
inline float square_root(float x) { return std::sqrt(x); }
inline double square_root(double x) { return std::sqrt(x); }

/// Returns the number of bits that are 1. nvcc compiles std::popcount() to nothing.
inline int count_bits(std::uint32_t word) { return std::popcount(word); }
inline int count_bits(std::uint64_t word) { return std::popcount(word); }

/// Returns 2^x with a relative error of at most 2^-22 on devices; 0 for -infinity, and for results below 2^-126.
inline float exp2_approximate(float x) { return emulator::flush_subnormal(std::exp2(emulator::flush_subnormal(x))); }

/// Returns the logarithm to base 2 with an absolute error of at most 2^-22 for x in [0.5, 2], else a relative error of
/// at most 2^-22, on devices; -infinity for 0 and for x below 2^-126.
inline float log2_approximate(float x) { return std::log2(emulator::flush_subnormal(x)); }

/// Returns 1 / x with a relative error of at most 2^-23 on devices; 0 for results below 2^-126, infinity for an x below
/// 2^-126.
inline float reciprocal_approximate(float x) { return emulator::flush_subnormal(1 / emulator::flush_subnormal(x)); }

/// Adds to a number in global or shared memory and returns the number before.
inline std::uint32_t atomic_add(std::uint32_t* at, std::uint32_t value) {
  return std::atomic_ref<std::uint32_t>(*at).fetch_add(value);
}

/// The emulator reports an address that is no multiple of kBytes: a device cannot load or store kBytes there at once.
template <int kBytes>
void expect_aligned(const void* address, CallSite site = CallSite::current()) {
  emulator::expect_aligned(address, kBytes, site);
}

/// Runs a kernel in the blocks of `grid`, asynchronously on a device. Throws std::runtime_error, with the name of the
/// kernel, if the kernel cannot start. An error within the kernel is an exception of a later call on a device, such as
/// device::wait_for(), and of this one in the emulator.
template <Kernel K>
void launch(const K& kernel, Grid grid, device::Stream /*stream*/) {
  check_shared_memory(K::kName, sizeof(typename K::Shared));
  emulator::run_or_record([kernel, grid] {
    emulator::launch({.kernel = K::kName,
                      .num_blocks = grid.blocks,
                      .num_rows = grid.rows,
                      .num_threads = K::kThreads,
                      .shared_bytes = sizeof(typename K::Shared)},
                     {[](const void* arguments) { (*static_cast<const K*>(arguments))(); }, &kernel});
  });
}

}  // namespace edgewise::kernels::gpu
