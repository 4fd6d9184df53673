// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

namespace edgewise::kernels::gpu::emulator {

/// A function with a stack of its own that suspends itself. Different threads may call resume(), one after the other.
/// The last page of the stack is protected, so that an overflow is a segmentation fault.
class Fiber {
 public:
  /// Does not begin to run. `run(context)` must not throw.
  Fiber(void (*run)(void* context), void* context);
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// The function must have returned.
  ~Fiber();

  /// Runs the function until it calls suspend() or returns.
  void resume();

  /// Returns to the caller of resume(). Only the function itself calls suspend().
  void suspend();

 private:
  struct State;

  std::unique_ptr<State> state_;
};

}  // namespace edgewise::kernels::gpu::emulator
