// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <type_traits>

#include "edgewise/base/threads.h"
#include "edgewise/device/stream.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "tests/kernels/host_buffer.h"

#ifdef EDGEWISE_TESTS_GPU
#include "tests/kernels/device/schedules.h"
#include "tests/support/device_buffer.h"
#endif

// A test of a kernel that the CPU and GPUs have is a file of two programs: test_kernels runs the kernel with each
// instruction set of the machine, and test_device runs it on a GPU, or in the emulator.
namespace edgewise::kernels {

#ifdef EDGEWISE_TESTS_GPU
inline constexpr bool kTestsGpu = true;
template <typename T>
using Array = device::Buffer<T>;
#else
inline constexpr bool kTestsGpu = false;
/// Memory that the kernels of the program read and write. Its bytes are 0xFF at first: NaN.
template <typename T>
using Array = HostBuffer<T>;
#endif

/// Calls the function of a kernel that the program tests:
///
///     call_kernel([&](auto... stream) { softmax_loss(arguments, stream...); });
template <class Call>
void call_kernel(Call call) {
  if constexpr (kTestsGpu) {
    call(device::Stream());
  } else {
    call();
  }
}

/// Calls test() with each instruction set, the reference included, or once on a GPU.
template <class Test>
void for_implementations(Test test) {
  if constexpr (kTestsGpu) {
    test();
  } else {
    for (const InstructionSet set : runnable_instruction_sets()) {
      SCOPED_TRACE(std::string(instruction_set_name(set)));
      const ForcedInstructionSet forced(set);
      test();
    }
  }
}

/// Calls test() for several numbers of threads, or in each order in which the emulator runs the threads of a GPU.
template <class Test>
void for_schedules(Test test) {
#ifdef EDGEWISE_TESTS_GPU
  gpu::for_each_schedule(test);
#else
  const int threads_before = num_threads();
  for (const int threads : {1, 2, 3, 7}) {
    SCOPED_TRACE(threads);
    set_num_threads(threads);
    test();
  }
  set_num_threads(threads_before);
#endif
}

}  // namespace edgewise::kernels
