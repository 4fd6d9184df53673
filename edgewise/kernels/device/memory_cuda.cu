// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

#include "edgewise/kernels/device/memory.h"

namespace edgewise::kernels::device {
namespace {

void check(const char* function, cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(std::string(function) + ": " + cudaGetErrorString(error));
}

void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  check("copy_memory", cudaDeviceSynchronize());
  check("copy_memory", cudaMemcpy(to, from, bytes, kind));
}

}  // namespace

void* allocate_memory(std::size_t bytes) {
  void* memory = nullptr;
  check("allocate_memory", cudaMalloc(&memory, bytes > 0 ? bytes : 1));
  return memory;
}

void free_memory(void* memory) { cudaFree(memory); }

void copy_memory_to_device(void* to, const void* from, std::size_t bytes) {
  copy(to, from, bytes, cudaMemcpyHostToDevice);
}

void copy_memory_to_host(void* to, const void* from, std::size_t bytes) {
  copy(to, from, bytes, cudaMemcpyDeviceToHost);
}

}  // namespace edgewise::kernels::device
