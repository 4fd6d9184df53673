// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include "edgewise/device/cuda_error.h"
#include "edgewise/device/memory.h"

namespace edgewise::device {
namespace {

cudaStream_t handle_of(Stream stream) { return static_cast<cudaStream_t>(stream.handle); }

}  // namespace

Platform platform() { return Platform::kCuda; }

void* allocate_memory(std::size_t bytes, Stream stream) {
  void* memory = nullptr;
  check_cuda("allocate_memory", cudaMallocAsync(&memory, bytes > 0 ? bytes : 1, handle_of(stream)));
  return memory;
}

void free_memory(void* memory, Stream stream) { cudaFreeAsync(memory, handle_of(stream)); }

void* allocate_host_memory(std::size_t bytes) {
  void* memory = nullptr;
  check_cuda("allocate_host_memory", cudaMallocHost(&memory, bytes > 0 ? bytes : 1));
  return memory;
}

void free_host_memory(void* memory) { cudaFreeHost(memory); }

void begin_copy(void* to, const void* from, std::size_t bytes, Stream stream) {
  if (bytes == 0) return;
  check_cuda("begin_copy", cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, handle_of(stream)));
}

void use_gpu(std::int64_t number) { check_cuda("use_gpu", cudaSetDevice(static_cast<int>(number))); }

std::size_t max_shared_memory() {
  int gpu = 0;
  int bytes = 0;
  check_cuda("max_shared_memory", cudaGetDevice(&gpu));
  check_cuda("max_shared_memory", cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, gpu));
  return static_cast<std::size_t>(bytes);
}

Stream create_stream() {
  cudaStream_t handle = nullptr;
  check_cuda("create_stream", cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking));
  return {handle};
}

void destroy_stream(Stream stream) { cudaStreamDestroy(handle_of(stream)); }

void wait_for(Stream stream) { check_cuda("wait_for", cudaStreamSynchronize(handle_of(stream))); }

}  // namespace edgewise::device
