// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace edgewise {

/// The processor and memory of a machine, and the part of them that this process may use.
struct Machine {
  std::string processor;
  std::vector<std::string> instructions;     // extensions that matter to products, as Linux names them
  int cores = 0;                             // logical processors of the machine
  int allowed_cores = 0;                     // processors in the affinity mask of this thread
  std::optional<int> quota_cores;            // CPU quota of the control group, rounded up
  std::int64_t memory = 0;                   // bytes; 0 if the system does not tell
  std::int64_t available_memory = 0;         // bytes that this process can still allocate
  std::optional<std::int64_t> group_memory;  // bytes that the control group can still use
};

/// Examines this machine. `root` is the folder with proc/ and sys/.
Machine examine_machine(const std::string& root = "/");

}  // namespace edgewise
