// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

// Limits of this process's control group and the groups above it (cgroup version 1 or 2). `root` is the folder with
// proc/self/cgroup and sys/fs/cgroup.

namespace edgewise {

/// Returns the CPU quota in cores, rounded up: 1.5 becomes 2. Returns nothing without a quota.
std::optional<int> cgroup_cores(const std::string& root = "/");

/// Returns how many bytes the groups can still use: the memory limit without the memory in use. The page cache counts
/// as free, because the system reclaims it. Returns nothing without a limit.
std::optional<std::int64_t> cgroup_memory(const std::string& root = "/");

}  // namespace edgewise
