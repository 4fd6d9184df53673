// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/context/stack_context.hpp>

namespace edgewise::kernels::gpu::emulator {

/// The memory of a fiber's stack, and what ThreadSanitizer knows of the fiber; null without ThreadSanitizer.
struct FiberStack {
  boost::context::stack_context memory;
  void* tsan_fiber = nullptr;

  const void* bottom() const { return static_cast<const char*>(memory.sp) - memory.size; }
};

/// Returns a stack that give_stack_back() received, or a new one. The last page is protected.
FiberStack take_stack();

/// Keeps a stack for later fibers: creating one takes much longer than a short kernel, above all with ThreadSanitizer.
void give_stack_back(const FiberStack& stack);

}  // namespace edgewise::kernels::gpu::emulator
