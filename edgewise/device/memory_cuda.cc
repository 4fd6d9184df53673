// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "edgewise/device/cuda_error.h"
#include "edgewise/device/launch_graph.h"
#include "edgewise/device/memory.h"

namespace edgewise::device {
namespace {

cudaStream_t handle_of(Stream stream) { return static_cast<cudaStream_t>(stream.handle); }

/// Ends a recording, whose graph the caller destroys.
cudaGraph_t end_recording(Stream stream) {
  cudaGraph_t graph = nullptr;
  check_cuda("LaunchGraph", cudaStreamEndCapture(handle_of(stream), &graph));
  return graph;
}

/// Ends a recording that has failed.
void discard_recording(Stream stream) {
  cudaGraph_t graph = nullptr;
  cudaStreamEndCapture(handle_of(stream), &graph);
  if (graph != nullptr) cudaGraphDestroy(graph);
  cudaGetLastError();  // forgets the error of the failed recording
}

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

struct LaunchGraph::Recorded {
  cudaGraphExec_t graph = nullptr;

  ~Recorded() {
    if (graph != nullptr) cudaGraphExecDestroy(graph);
  }
};

LaunchGraph LaunchGraph::record(Stream stream, const std::function<void()>& begin_all) {
  auto recorded = std::make_unique<Recorded>();
  // Other threads may allocate memory and wait for their streams meanwhile, but not for the device.
  check_cuda("LaunchGraph", cudaStreamBeginCapture(handle_of(stream), cudaStreamCaptureModeThreadLocal));
  try {
    begin_all();
  } catch (...) {
    discard_recording(stream);
    throw;
  }
  const cudaGraph_t graph = end_recording(stream);
  const cudaError_t error = cudaGraphInstantiate(&recorded->graph, graph, 0);
  cudaGraphDestroy(graph);
  check_cuda("LaunchGraph", error);
  return LaunchGraph(std::move(recorded));
}

LaunchGraph::LaunchGraph(std::unique_ptr<Recorded> recorded) : recorded_(std::move(recorded)) {}
LaunchGraph::~LaunchGraph() = default;
LaunchGraph::LaunchGraph(LaunchGraph&& other) noexcept = default;
LaunchGraph& LaunchGraph::operator=(LaunchGraph&& other) noexcept = default;

void LaunchGraph::launch(Stream stream) const {
  check_cuda("LaunchGraph", cudaGraphLaunch(recorded_->graph, handle_of(stream)));
}

}  // namespace edgewise::device
