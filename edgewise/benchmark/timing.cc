// SPDX-License-Identifier: Apache-2.0
#include "edgewise/benchmark/timing.h"

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <numeric>

#include "edgewise/base/error.h"
#include "edgewise/base/memory.h"
#include "edgewise/benchmark/device_limits.h"

/// tcmalloc's function; null in programs with another heap.
extern "C" [[gnu::weak]] void MallocExtension_ReleaseFreeMemory();

namespace edgewise {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kWarmUp{300};
constexpr int kCallsOfGpu = 20;
constexpr std::int64_t kTurns = 4;
constexpr double kEnoughSeconds = 10.0;
constexpr std::size_t kEnoughTimes = 3;

double seconds_of(const std::function<void()>& call) {
  const Clock::time_point begin = Clock::now();
  call();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void warm_up(const std::function<void()>& call) {
  const Clock::time_point start = Clock::now();
  do call();
  while (Clock::now() - start < kWarmUp);
}

bool has_enough(const TimedCall& timed, std::int64_t repetitions) {
  if (std::ssize(timed.seconds) >= repetitions) return true;
  return timed.seconds.size() >= kEnoughTimes &&
         std::accumulate(timed.seconds.begin(), timed.seconds.end(), 0.0) > kEnoughSeconds;
}

void return_free_memory() {
  if (MallocExtension_ReleaseFreeMemory != nullptr) MallocExtension_ReleaseFreeMemory();
  ::malloc_trim(0);
}

}  // namespace

std::vector<double> time_calls(std::int64_t repetitions, at::Device device, const std::function<void()>& call) {
  const int calls = device.is_cpu() ? 1 : kCallsOfGpu;
  const auto run_calls = [&] {
    for (int i = 0; i < calls; ++i) call();
    synchronize(device);
  };
  warm_up(run_calls);
  std::vector<double> seconds;
  for (std::int64_t i = 0; i < repetitions; ++i) seconds.push_back(seconds_of(run_calls) / calls);
  return seconds;
}

void time_in_turns(std::span<TimedCall> calls, std::int64_t repetitions) {
  for (TimedCall& timed : calls) warm_up(timed.call);
  const std::int64_t times_a_turn = (repetitions + kTurns - 1) / kTurns;
  for (std::int64_t turn = 0; turn < kTurns; ++turn) {
    for (TimedCall& timed : calls) {
      if (has_enough(timed, repetitions)) continue;
      timed.call();  // brings its data back into the caches
      for (std::int64_t i = 0; i < times_a_turn && !has_enough(timed, repetitions); ++i) {
        timed.seconds.push_back(seconds_of(timed.call));
      }
    }
  }
}

void reset_peak_memory() {
  return_free_memory();
  std::ofstream peak("/proc/self/clear_refs");
  peak << 5 << std::flush;  // the peak becomes the resident memory of now
  check(peak.good(), "bench: /proc/self/clear_refs cannot be written, needs a system that resets the peak memory");
}

std::int64_t measure_memory_growth(const std::function<void()>& run) {
  reset_peak_memory();
  const std::int64_t before = peak_memory();
  run();
  return peak_memory() - before;
}

}  // namespace edgewise
