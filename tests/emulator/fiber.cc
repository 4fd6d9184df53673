// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/fiber.h"

#include <boost/context/fiber.hpp>
#include <cstddef>
#include <utility>

#include "tests/emulator/fiber_stack.h"
#include "tests/emulator/sanitizers.h"

namespace edgewise::kernels::gpu::emulator {
namespace {

namespace context = boost::context;

// The allocator that Boost requires; ~Fiber() frees the stack instead.
struct NoAllocator {
  context::stack_context allocate() { return {}; }
  void deallocate(context::stack_context& /*stack*/) noexcept {}
};

}  // namespace

// Sanitizers are told of each switch: just before it in the code that is left, and just after it in the other one.
struct Fiber::State {
  State(void (*function)(void*), void* function_context) : run(function), run_context(function_context) {}

  void (*run)(void*);
  void* run_context;
  FiberStack stack = take_stack();
  context::fiber fiber;   // the fiber, while it is suspended
  context::fiber caller;  // the caller of resume(), while the fiber runs

#ifdef EDGEWISE_ADDRESS_SANITIZER
  const void* caller_stack = nullptr;
  std::size_t caller_stack_bytes = 0;
#endif
#ifdef EDGEWISE_THREAD_SANITIZER
  void* tsan_caller = nullptr;
#endif

  void run_to_end() {
#ifdef EDGEWISE_ADDRESS_SANITIZER
    __sanitizer_finish_switch_fiber(nullptr, &caller_stack, &caller_stack_bytes);
#endif
    run(run_context);
    announce_caller(nullptr);
  }

  // A null `fake_stack` means that the fiber ends.
  void announce_caller([[maybe_unused]] void** fake_stack) {
#ifdef EDGEWISE_ADDRESS_SANITIZER
    __sanitizer_start_switch_fiber(fake_stack, caller_stack, caller_stack_bytes);
#endif
#ifdef EDGEWISE_THREAD_SANITIZER
    __tsan_switch_to_fiber(tsan_caller, __tsan_switch_to_fiber_no_sync);
#endif
  }
};

Fiber::Fiber(void (*run)(void*), void* run_context) : state_(std::make_unique<State>(run, run_context)) {
  const context::stack_context& memory = state_->stack.memory;
  state_->fiber = context::fiber(std::allocator_arg, context::preallocated(memory.sp, memory.size, memory),
                                 NoAllocator(), [state = state_.get()](context::fiber&& caller) {
                                   state->caller = std::move(caller);
                                   state->run_to_end();
                                   return std::move(state->caller);
                                 });
}

Fiber::~Fiber() { give_stack_back(state_->stack); }

void Fiber::resume() {
#ifdef EDGEWISE_THREAD_SANITIZER
  state_->tsan_caller = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(state_->stack.tsan_fiber, __tsan_switch_to_fiber_no_sync);
#endif
#ifdef EDGEWISE_ADDRESS_SANITIZER
  void* fake_stack = nullptr;
  __sanitizer_start_switch_fiber(&fake_stack, state_->stack.bottom(), state_->stack.memory.size);
#endif
  state_->fiber = std::move(state_->fiber).resume();
#ifdef EDGEWISE_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
}

void Fiber::suspend() {
  void* fake_stack = nullptr;
  state_->announce_caller(&fake_stack);
  state_->caller = std::move(state_->caller).resume();
#ifdef EDGEWISE_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(fake_stack, &state_->caller_stack, &state_->caller_stack_bytes);
#endif
}

}  // namespace edgewise::kernels::gpu::emulator
