// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "edgewise/device/cuda_error.h"
#include "edgewise/kernels/gpu/device.h"

// Implements the functions of device.h with CUDA. Only device.h includes this file, at its end. No other file contains
// PTX.

#define EDGEWISE_DEVICE __device__ __forceinline__
#define EDGEWISE_UNROLL _Pragma("unroll")

namespace edgewise::kernels::gpu {

EDGEWISE_DEVICE int thread_index() { return static_cast<int>(threadIdx.x); }
EDGEWISE_DEVICE int block_index() { return static_cast<int>(blockIdx.x); }
EDGEWISE_DEVICE int block_index_y() { return static_cast<int>(blockIdx.y); }
EDGEWISE_DEVICE int num_blocks() { return static_cast<int>(gridDim.x); }

template <typename Shared>
EDGEWISE_DEVICE Shared& shared_memory() {
  extern __shared__ __align__(128) unsigned char bytes[];
  return *reinterpret_cast<Shared*>(bytes);
}

EDGEWISE_DEVICE void synchronize_block(CallSite = {}) { __syncthreads(); }

EDGEWISE_DEVICE void synchronize_named_barrier(int barrier, int num_threads, CallSite = {}) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(num_threads) : "memory");
}

EDGEWISE_DEVICE void synchronize_warp(LaneMask lanes = kAllLanes, CallSite = {}) { __syncwarp(lanes); }

template <Word T>
EDGEWISE_DEVICE T shuffle(T value, int source, LaneMask lanes = kAllLanes, CallSite = {}) {
  return std::bit_cast<T>(__shfl_sync(lanes, std::bit_cast<std::uint32_t>(value), source));
}

template <Word T>
EDGEWISE_DEVICE T shuffle_xor(T value, int distance, LaneMask lanes = kAllLanes, CallSite = {}) {
  return std::bit_cast<T>(__shfl_xor_sync(lanes, std::bit_cast<std::uint32_t>(value), distance));
}

EDGEWISE_DEVICE LaneMask ballot(bool value, LaneMask lanes = kAllLanes, CallSite = {}) {
  return __ballot_sync(lanes, value);
}

namespace detail {
EDGEWISE_DEVICE std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}
}  // namespace detail

template <int kBytes>
EDGEWISE_DEVICE void copy_async(void* to, const void* from, bool is_valid = true, CallSite = {}) {
  static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16);
  const int valid_bytes = is_valid ? kBytes : 0;
  const std::uint32_t address = detail::shared_address(to);
  if constexpr (kBytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(valid_bytes)
                 : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(address), "l"(from), "n"(kBytes),
                 "r"(valid_bytes)
                 : "memory");
  }
}

EDGEWISE_DEVICE void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

template <int kPending>
EDGEWISE_DEVICE void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

EDGEWISE_DEVICE void load_matrices(std::uint32_t (&out)[4], const void* row, CallSite = {}) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(detail::shared_address(row))
               : "memory");
}

EDGEWISE_DEVICE void load_matrices(std::uint32_t (&out)[2], const void* row, CallSite = {}) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(out[0]), "=r"(out[1])
               : "r"(detail::shared_address(row))
               : "memory");
}

EDGEWISE_DEVICE void load_matrices_transposed(std::uint32_t (&out)[4], const void* row, CallSite = {}) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(detail::shared_address(row))
               : "memory");
}

EDGEWISE_DEVICE void load_matrices_transposed(std::uint32_t (&out)[2], const void* row, CallSite = {}) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(out[0]), "=r"(out[1])
               : "r"(detail::shared_address(row))
               : "memory");
}

EDGEWISE_DEVICE void multiply_tiles(float (&sum)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
                                    CallSite = {}) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

EDGEWISE_DEVICE std::uint32_t pack_bf16(float low, float high) {
  std::uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

EDGEWISE_DEVICE float fused_multiply_add(float a, float b, float c) { return __fmaf_rn(a, b, c); }

EDGEWISE_DEVICE float square_root(float x) { return __fsqrt_rn(x); }
EDGEWISE_DEVICE double square_root(double x) { return __dsqrt_rn(x); }

EDGEWISE_DEVICE int count_bits(std::uint32_t word) { return __popc(word); }
EDGEWISE_DEVICE int count_bits(std::uint64_t word) { return __popcll(word); }

EDGEWISE_DEVICE float exp2_approximate(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

EDGEWISE_DEVICE float log2_approximate(float x) {
  float result;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

EDGEWISE_DEVICE float reciprocal_approximate(float x) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

EDGEWISE_DEVICE std::uint32_t atomic_add(std::uint32_t* at, std::uint32_t value) { return atomicAdd(at, value); }

template <int kBytes>
EDGEWISE_DEVICE void expect_aligned(const void* /*address*/, CallSite = {}) {}

namespace detail {
// A kernel without kResidentBlocks asks for one block per multiprocessor. Without any number, ptxas may limit registers
// so that several blocks fit, and spill.
template <Kernel K>
constexpr int resident_blocks() {
  if constexpr (requires { K::kResidentBlocks; }) {
    return K::kResidentBlocks;
  } else {
    return 1;
  }
}

template <Kernel K>
__global__ void __launch_bounds__(K::kThreads, resident_blocks<K>()) run(const __grid_constant__ K kernel) {
  kernel();
}

// scripts/compile_cuda reads the shared memory of each kernel from the sizes of these symbols.
#ifdef EDGEWISE_KERNEL_TABLE
template <Kernel K>
char shared_memory_of[sizeof(typename K::Shared)];
#endif
}  // namespace detail

template <Kernel K>
void launch(const K& kernel, Grid grid, device::Stream stream) {
#ifdef EDGEWISE_KERNEL_TABLE
  asm volatile("" ::"r"(detail::shared_memory_of<K>));  // keeps the symbol in the object file
#endif
  if (grid.blocks == 0 || grid.rows == 0) return;  // CUDA rejects an empty grid
  constexpr int kSharedBytes = sizeof(typename K::Shared);
  constexpr int kDefaultSharedBytes = 48 * 1024;
  if constexpr (kSharedBytes > kDefaultSharedBytes) {
    check_shared_memory(K::kName, kSharedBytes);
    device::check_cuda(K::kName,
                       cudaFuncSetAttribute(detail::run<K>, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes));
  }
  K arguments = kernel;
  void* pointers[] = {&arguments};
  const dim3 blocks(static_cast<unsigned>(grid.blocks), static_cast<unsigned>(grid.rows));
  device::check_cuda(
      K::kName, cudaLaunchKernel(reinterpret_cast<const void*>(&detail::run<K>), blocks, dim3(K::kThreads), pointers,
                                 kSharedBytes, static_cast<cudaStream_t>(stream.handle)));
}

}  // namespace edgewise::kernels::gpu
