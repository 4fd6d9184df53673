// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>

#include "edgewise/kernels/device/cuda_error.h"
#include "edgewise/kernels/device/memory.h"

namespace edgewise::kernels::device {
namespace {

void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  check_cuda("copy_memory", cudaDeviceSynchronize());
  check_cuda("copy_memory", cudaMemcpy(to, from, bytes, kind));
}

}  // namespace

void* allocate_memory(std::size_t bytes) {
  void* memory = nullptr;
  check_cuda("allocate_memory", cudaMalloc(&memory, bytes > 0 ? bytes : 1));
  return memory;
}

void free_memory(void* memory) { cudaFree(memory); }

void copy_memory_to_device(void* to, const void* from, std::size_t bytes) {
  copy(to, from, bytes, cudaMemcpyHostToDevice);
}

void copy_memory_to_host(void* to, const void* from, std::size_t bytes) {
  copy(to, from, bytes, cudaMemcpyDeviceToHost);
}

void* allocate_host_memory(std::size_t bytes) {
  void* memory = nullptr;
  check_cuda("allocate_host_memory", cudaMallocHost(&memory, bytes > 0 ? bytes : 1));
  return memory;
}

void free_host_memory(void* memory) { cudaFreeHost(memory); }

void begin_copy(void* to, const void* from, std::size_t bytes, Stream stream) {
  check_cuda("begin_copy",
             cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, static_cast<cudaStream_t>(stream.handle)));
}

void use_gpu(std::int64_t number) { check_cuda("use_gpu", cudaSetDevice(static_cast<int>(number))); }

Stream create_stream() {
  cudaStream_t handle = nullptr;
  check_cuda("create_stream", cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking));
  return {handle};
}

void destroy_stream(Stream stream) { cudaStreamDestroy(static_cast<cudaStream_t>(stream.handle)); }

void wait_for(Stream stream) {
  check_cuda("wait_for", cudaStreamSynchronize(static_cast<cudaStream_t>(stream.handle)));
}

}  // namespace edgewise::kernels::device
