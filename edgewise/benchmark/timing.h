// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace edgewise {

/// Returns the seconds of each of `repetitions` calls after a warm-up of 0.3 s, until memory and clock rates are as in
/// the middle of training. On a GPU, a repetition is 20 calls, so that the GPU does not wait for the calling thread.
std::vector<double> time_calls(std::int64_t repetitions, at::Device device, const std::function<void()>& call);

/// A computation on the CPU, and the seconds of its calls.
struct TimedCall {
  std::function<void()> call;
  std::vector<double> seconds = {};
};

/// Times each call `repetitions` times, in four turns of the calls, so that a machine that becomes slower or faster
/// changes all of them alike. A call that has taken 10 s in all is repeated only until it has three times.
void time_in_turns(std::span<TimedCall> calls, std::int64_t repetitions);

/// Makes the resident memory of this process its peak memory (base/memory.h). Memory that the heap keeps free for later
/// use is first returned to the system.
void reset_peak_memory();

/// Returns by how many bytes a computation raises the resident memory of this process at most, after
/// reset_peak_memory().
std::int64_t measure_memory_growth(const std::function<void()>& run);

}  // namespace edgewise
