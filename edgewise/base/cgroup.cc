// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include "edgewise/base/threads.h"

namespace edgewise {
namespace {

// Reads a version 2 quota in cores: the file has microseconds of core time per period, "150000 100000" or "max 100000".
std::optional<double> read_quota_v2(const std::filesystem::path& group) {
  std::ifstream file(group / "cpu.max");
  double quota = 0;
  double period = 0;
  if (!(file >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

// Reads a version 1 quota in cores: quota and period have a file each, and a quota of -1 is no limit.
std::optional<double> read_quota_v1(const std::filesystem::path& group) {
  std::ifstream quota_file(group / "cpu.cfs_quota_us");
  std::ifstream period_file(group / "cpu.cfs_period_us");
  double quota = 0;
  double period = 0;
  if (!(quota_file >> quota) || !(period_file >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

using ReadQuota = std::optional<double> (*)(const std::filesystem::path&);

// Returns the smallest quota of a group and the groups above it. Inside a container, often only `top` exists.
std::optional<double> smallest_quota(const std::filesystem::path& top, std::filesystem::path group,
                                     ReadQuota read_quota) {
  std::optional<double> smallest = read_quota(top);
  for (; !group.empty(); group = group.parent_path()) {
    const auto quota = read_quota(top / group);
    if (quota) smallest = std::min(*quota, smallest.value_or(*quota));
  }
  return smallest;
}

std::optional<double> quota_of_group_line(const std::filesystem::path& groups, const std::string& line) {
  const auto first = line.find(':');
  const auto second = line.find(':', first + 1);
  if (first == std::string::npos || second == std::string::npos) return std::nullopt;
  const std::string controllers = line.substr(first + 1, second - first - 1);
  const std::filesystem::path group = std::filesystem::path(line.substr(second + 1)).relative_path();
  if (controllers.empty()) return smallest_quota(groups, group, read_quota_v2);
  if (("," + controllers + ",").find(",cpu,") == std::string::npos) return std::nullopt;
  return smallest_quota(groups / controllers, group, read_quota_v1);
}

}  // namespace

std::optional<int> cgroup_cores(const std::string& root_folder) {
  const std::filesystem::path root(root_folder);
  std::ifstream file(root / "proc/self/cgroup");
  std::optional<double> smallest;
  for (std::string line; std::getline(file, line);) {
    const auto quota = quota_of_group_line(root / "sys/fs/cgroup", line);
    if (quota) smallest = std::min(*quota, smallest.value_or(*quota));
  }
  if (!smallest) return std::nullopt;
  return static_cast<int>(std::ceil(std::min(*smallest, 1e6)));
}

}  // namespace edgewise
