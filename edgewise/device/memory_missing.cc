// SPDX-License-Identifier: Apache-2.0
// The functions of memory.h and launch_graph.h in a program without CUDA. Tests link the emulator in their place.
#include <string_view>

#include "edgewise/base/error.h"
#include "edgewise/device/launch_graph.h"
#include "edgewise/device/memory.h"

namespace edgewise::device {
namespace {

[[noreturn]] void fail_without_cuda(std::string_view function) {
  fail("{}: this build has no GPUs, needs a program with CUDA; build it with make all CUDA=1", function);
}

}  // namespace

Platform platform() { return Platform::kNone; }

void* allocate_memory(std::size_t /*bytes*/, Stream /*stream*/) { fail_without_cuda("allocate_memory"); }
void free_memory(void* /*memory*/, Stream /*stream*/) {}
void* allocate_host_memory(std::size_t /*bytes*/) { fail_without_cuda("allocate_host_memory"); }
void free_host_memory(void* /*memory*/) {}
void begin_copy(void* /*to*/, const void* /*from*/, std::size_t /*bytes*/, Stream /*stream*/) {
  fail_without_cuda("begin_copy");
}
void use_gpu(std::int64_t /*number*/) { fail_without_cuda("use_gpu"); }
std::size_t max_shared_memory() { fail_without_cuda("max_shared_memory"); }
Stream create_stream() { fail_without_cuda("create_stream"); }
void destroy_stream(Stream /*stream*/) {}
void wait_for(Stream /*stream*/) { fail_without_cuda("wait_for"); }

struct LaunchGraph::Recorded {};

LaunchGraph LaunchGraph::record(Stream /*stream*/, const std::function<void()>& /*begin_all*/) {
  fail_without_cuda("LaunchGraph");
}
LaunchGraph::~LaunchGraph() = default;
LaunchGraph::LaunchGraph(LaunchGraph&& other) noexcept = default;
LaunchGraph& LaunchGraph::operator=(LaunchGraph&& other) noexcept = default;
void LaunchGraph::launch(Stream /*stream*/) const { fail_without_cuda("LaunchGraph"); }

}  // namespace edgewise::device
