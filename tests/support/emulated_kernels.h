// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <vector>

#include "edgewise/kernels/gpu/emulator/launch_record.h"
#include "edgewise/ops/definition.h"

namespace edgewise {

/// Calls `function` as with EDGEWISE_OPERATIONS=cuda-emulated. Returns the names of the kernels for GPUs that it
/// launched.
template <class Function>
std::set<std::string> launched_kernels(Function function) {
  const EmulatedKernelsGuard guard;
  const kernels::gpu::emulator::LaunchRecord record;
  function();
  const std::vector<std::string> kernels = record.kernels();
  return {kernels.begin(), kernels.end()};
}

}  // namespace edgewise
