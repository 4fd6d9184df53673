// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

namespace edgewise {

/// How many cores' worth of time this process's control group and those above it grant (version 1 or 2), rounded up;
/// none when there is no limit. `root` is where proc/self/cgroup and sys/fs/cgroup are.
std::optional<int> cgroup_cores(const std::filesystem::path& root = "/");

}  // namespace edgewise
