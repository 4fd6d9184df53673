// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

namespace edgewise::kernels::gpu::emulator {

using Calls = std::vector<std::function<void()>>;

/// While the object exists, run_or_record() of the same thread adds its calls to `calls`.
class Recording {
 public:
  explicit Recording(Calls& calls);
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  ~Recording();
};

/// Calls `call`, or adds it to the thread's recording.
void run_or_record(std::function<void()> call);

}  // namespace edgewise::kernels::gpu::emulator
