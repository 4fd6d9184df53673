// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "edgewise/device/memory.h"
#include "edgewise/ops/backend.h"
#include "tests/emulator/launch_record.h"

namespace edgewise {

/// Returns whether the program has the emulator of GPUs, which a build with CUDA does not have.
inline bool has_emulator() { return device::platform() == device::Platform::kEmulator; }

/// Calls `function` as with EDGEWISE_OPERATIONS=cuda-emulated. Returns the names of the kernels for GPUs that it
/// launched.
template <class Function>
std::set<std::string> launched_kernels(Function function) {
  const OperationsGuard guard(Operations::kCudaEmulated);
  const kernels::gpu::emulator::LaunchRecord record;
  function();
  const std::vector<std::string> kernels = record.kernels();
  return {kernels.begin(), kernels.end()};
}

}  // namespace edgewise
