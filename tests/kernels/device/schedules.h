// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#ifndef EDGEWISE_CUDA
#include "tests/emulator/schedule.h"
#endif

namespace edgewise::kernels::gpu {

/// Calls test() in each order of the emulator, or once on a device.
template <class Test>
void for_each_schedule(Test&& test) {
#ifdef EDGEWISE_CUDA
  test();
#else
  for (const emulator::Schedule& schedule : emulator::all_schedules()) {
    SCOPED_TRACE("schedule: " + to_string(schedule));
    const emulator::ScheduleScope scope(schedule);
    test();
  }
#endif
}

}  // namespace edgewise::kernels::gpu
