// SPDX-License-Identifier: Apache-2.0
#include "edgewise/device/launch_graph.h"

#include <utility>

#include "tests/emulator/recording.h"

namespace edgewise {
namespace kernels::gpu::emulator {
namespace {

thread_local Calls* current_recording = nullptr;

}  // namespace

Recording::Recording(Calls& calls) { current_recording = &calls; }
Recording::~Recording() { current_recording = nullptr; }

void run_or_record(std::function<void()> call) {
  if (current_recording == nullptr) {
    call();
  } else {
    current_recording->push_back(std::move(call));
  }
}

}  // namespace kernels::gpu::emulator

namespace device {

struct LaunchGraph::Recorded {
  kernels::gpu::emulator::Calls calls;
};

LaunchGraph LaunchGraph::record(Stream /*stream*/, const std::function<void()>& begin_all) {
  auto recorded = std::make_unique<Recorded>();
  const kernels::gpu::emulator::Recording recording(recorded->calls);
  begin_all();
  return LaunchGraph(std::move(recorded));
}

LaunchGraph::LaunchGraph(std::unique_ptr<Recorded> recorded) : recorded_(std::move(recorded)) {}
LaunchGraph::~LaunchGraph() = default;
LaunchGraph::LaunchGraph(LaunchGraph&& other) noexcept = default;
LaunchGraph& LaunchGraph::operator=(LaunchGraph&& other) noexcept = default;

void LaunchGraph::launch(Stream /*stream*/) const {
  for (const auto& call : recorded_->calls) call();
}

}  // namespace device
}  // namespace edgewise
