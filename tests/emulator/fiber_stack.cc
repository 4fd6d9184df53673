// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/fiber_stack.h"

#include <boost/context/protected_fixedsize_stack.hpp>
#include <mutex>
#include <vector>

#include "tests/emulator/sanitizers.h"

namespace edgewise::kernels::gpu::emulator {
namespace {

// Instrumented code has larger frames.
#if defined(EDGEWISE_ADDRESS_SANITIZER) || defined(EDGEWISE_THREAD_SANITIZER)
constexpr std::size_t kStackBytes = std::size_t{512} * 1024;
#else
constexpr std::size_t kStackBytes = std::size_t{128} * 1024;
#endif

class IdleStacks {
 public:
  IdleStacks() = default;
  IdleStacks(const IdleStacks&) = delete;
  IdleStacks& operator=(const IdleStacks&) = delete;

  ~IdleStacks() {
    for (FiberStack& stack : stacks_) {
      boost::context::protected_fixedsize_stack(kStackBytes).deallocate(stack.memory);
#ifdef EDGEWISE_THREAD_SANITIZER
      __tsan_destroy_fiber(stack.tsan_fiber);
#endif
    }
  }

  FiberStack take() {
    const std::lock_guard lock(mutex_);
    if (stacks_.empty()) return make();
    const FiberStack stack = stacks_.back();
    stacks_.pop_back();
    return stack;
  }

  void give_back(const FiberStack& stack) {
    const std::lock_guard lock(mutex_);
    stacks_.push_back(stack);
  }

 private:
  static FiberStack make() {
    FiberStack stack;
    stack.memory = boost::context::protected_fixedsize_stack(kStackBytes).allocate();
#ifdef EDGEWISE_THREAD_SANITIZER
    stack.tsan_fiber = __tsan_create_fiber(0);
#endif
    return stack;
  }

  std::mutex mutex_;
  std::vector<FiberStack> stacks_;
};

IdleStacks& idle_stacks() {
  static IdleStacks stacks;
  return stacks;
}

}  // namespace

FiberStack take_stack() {
  const FiberStack stack = idle_stacks().take();
  allow_access(stack.bottom(), stack.memory.size);  // the fiber before has left red zones
  return stack;
}

void give_stack_back(const FiberStack& stack) { idle_stacks().give_back(stack); }

}  // namespace edgewise::kernels::gpu::emulator
