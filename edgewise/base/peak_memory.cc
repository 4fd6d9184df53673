// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/peak_memory.h"

#include <fstream>
#include <string>

#include "edgewise/base/error.h"

namespace edgewise {

// getrusage would return the parent's peak if that was larger at the fork.
std::int64_t peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::int64_t kibibytes = 0;
    if (word == "VmHWM:" && status >> kibibytes) return kibibytes * 1024;
  }
  fail("peak_memory: /proc/self/status has no VmHWM, needs it");
}

}  // namespace edgewise
