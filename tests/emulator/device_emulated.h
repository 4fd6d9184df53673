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
inline int block_index_y() { return emulator::block_index_y(); }
inline int num_blocks() { return emulator::num_blocks(); }

template <typename Shared>
Shared& shared_memory() {
  return *static_cast<Shared*>(emulator::shared_memory(sizeof(Shared)));
}

inline void synchronize_block(CallSite site = CallSite::current()) { emulator::synchronize_block(site); }

inline void synchronize_named_barrier(int barrier, int num_threads, CallSite site = CallSite::current()) {
  emulator::synchronize_named_barrier(barrier, num_threads, site);
}

inline void synchronize_warp(LaneMask lanes = kAllLanes, CallSite site = CallSite::current()) {
  emulator::synchronize_warp(lanes, site);
}

template <Word T>
T shuffle(T value, int source, LaneMask lanes = kAllLanes, CallSite site = CallSite::current()) {
  return std::bit_cast<T>(emulator::shuffle(std::bit_cast<std::uint32_t>(value), source, lanes, site));
}

template <Word T>
T shuffle_xor(T value, int distance, LaneMask lanes = kAllLanes, CallSite site = CallSite::current()) {
  return shuffle(value, emulator::thread_index() % kWarpSize ^ distance, lanes, site);
}

inline LaneMask ballot(bool value, LaneMask lanes = kAllLanes, CallSite site = CallSite::current()) {
  return emulator::ballot(value, lanes, site);
}

template <int kBytes>
void copy_async(void* to, const void* from, bool is_valid = true, CallSite site = CallSite::current()) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16);
  emulator::copy_async(to, is_valid ? from : nullptr, kBytes, site);
}

inline void commit_copies() { emulator::commit_copies(); }

template <int kPending>
void wait_for_copies() {
  static_assert(kPending >= 0);
  emulator::wait_for_copies(kPending);
}

template <std::size_t kMatrices>
void load_matrices(std::uint32_t (&out)[kMatrices], const void* row, CallSite site = CallSite::current()) {
  emulator::load_matrices(out, row, /*is_transposed=*/false, site);
}

template <std::size_t kMatrices>
void load_matrices_transposed(std::uint32_t (&out)[kMatrices], const void* row, CallSite site = CallSite::current()) {
  emulator::load_matrices(out, row, /*is_transposed=*/true, site);
}

inline void multiply_tiles(float (&sum)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
                           CallSite site = CallSite::current()) {
  emulator::multiply_tiles(sum, a, b, site);
}

inline std::uint32_t pack_bf16(float low, float high) { return emulator::pack_bf16(low, high); }

inline float fused_multiply_add(float a, float b, float c) { return std::fma(a, b, c); }

inline float square_root(float x) { return std::sqrt(x); }
inline double square_root(double x) { return std::sqrt(x); }

inline int count_bits(std::uint32_t word) { return std::popcount(word); }
inline int count_bits(std::uint64_t word) { return std::popcount(word); }

inline float exp2_approximate(float x) { return emulator::flush_subnormal(std::exp2(emulator::flush_subnormal(x))); }

inline float log2_approximate(float x) { return std::log2(emulator::flush_subnormal(x)); }

inline float reciprocal_approximate(float x) { return emulator::flush_subnormal(1 / emulator::flush_subnormal(x)); }

inline std::uint32_t atomic_add(std::uint32_t* at, std::uint32_t value) {
  return std::atomic_ref<std::uint32_t>(*at).fetch_add(value);
}

template <int kBytes>
void expect_aligned(const void* address, CallSite site = CallSite::current()) {
  emulator::expect_aligned(address, kBytes, site);
}

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
