// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/gpu/device.h"

namespace edgewise::kernels::gpu {

struct TestShared {
  alignas(16) float values[64];
};

/// A kernel of two warps whose threads call a lambda with the shared memory. Only the emulator runs it.
template <class Body>
struct TestKernel {
  static constexpr const char* kName = "test";
  static constexpr int kThreads = 64;
  using Shared = TestShared;

  Body body;

  void operator()() const { body(shared_memory<Shared>()); }
};

template <class Body>
void run(Body body, Grid grid = 1) {
  launch(TestKernel<Body>{body}, grid, device::Stream());
}

}  // namespace edgewise::kernels::gpu
