// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace edgewise::kernels::gpu::emulator {

/// The order in which the threads of a block run between collectives. Where a kernel lacks a barrier, a thread that
/// runs far ahead of the others, or far behind them, computes different numbers.
enum class Order {
  kInOrder,       // one thread after the other, each until its next collective
  kReversed,      // the same from the last thread to the first; blocks run in reverse order, too
  kRandom,        // a random warp and a random lane of it, for a random number of steps
  kWarpWise,      // the first warp runs until it waits for other warps, then the second one, and so on
  kBarrierEager,  // the warp that reached a barrier last goes on first, before the others leave the barrier
};

struct Schedule {
  Order order = Order::kInOrder;
  std::uint64_t seed = 0;  // the random numbers of kRandom
};

/// Returns a schedule of each order.
std::vector<Schedule> all_schedules();

std::string to_string(const Schedule& schedule);

/// Selects the schedule of the kernels that this thread launches, until the scope ends.
class ScheduleScope {
 public:
  explicit ScheduleScope(const Schedule& schedule);
  ScheduleScope(const ScheduleScope&) = delete;
  ScheduleScope& operator=(const ScheduleScope&) = delete;
  ~ScheduleScope();

 private:
  Schedule before_;
};

/// Returns the schedule in use, kInOrder without a scope.
Schedule current_schedule();

}  // namespace edgewise::kernels::gpu::emulator
