// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/schedule.h"

namespace edgewise::kernels::gpu::emulator {
namespace {

thread_local Schedule schedule_of_thread;

}  // namespace

std::vector<Schedule> all_schedules() {
  return {
      {Order::kInOrder}, {Order::kReversed}, {Order::kRandom, /*seed=*/1}, {Order::kWarpWise}, {Order::kBarrierEager}};
}

std::string to_string(const Schedule& schedule) {
  switch (schedule.order) {
    case Order::kInOrder:
      return "in order";
    case Order::kReversed:
      return "reversed";
    case Order::kRandom:
      return "random, seed " + std::to_string(schedule.seed);
    case Order::kWarpWise:
      return "warp by warp";
    case Order::kBarrierEager:
      break;
  }
  return "barrier-eager";
}

ScheduleScope::ScheduleScope(const Schedule& schedule) : before_(schedule_of_thread) { schedule_of_thread = schedule; }

ScheduleScope::~ScheduleScope() { schedule_of_thread = before_; }

Schedule current_schedule() { return schedule_of_thread; }

}  // namespace edgewise::kernels::gpu::emulator
