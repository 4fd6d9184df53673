// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/cgroup.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

namespace edgewise {
namespace {

// Microseconds of core time in each period, as version 2 writes them: "150000 100000", or "max 100000".
std::optional<double> quota_of_version_2(const std::filesystem::path& group) {
  std::ifstream file(group / "cpu.max");
  double quota = 0;
  double period = 0;
  if (!(file >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

// Version 1 has a file for each, and -1 for no limit.
std::optional<double> quota_of_version_1(const std::filesystem::path& group) {
  std::ifstream quota_file(group / "cpu.cfs_quota_us");
  std::ifstream period_file(group / "cpu.cfs_period_us");
  double quota = 0;
  double period = 0;
  if (!(quota_file >> quota) || !(period_file >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

using QuotaOf = std::optional<double> (*)(const std::filesystem::path&);

// A group has no more than the groups above it. Inside a container its own path is often not there, but `top` is.
std::optional<double> smallest_quota(const std::filesystem::path& top, std::filesystem::path group, QuotaOf quota_of) {
  std::optional<double> smallest = quota_of(top);
  for (; !group.empty(); group = group.parent_path()) {
    const auto quota = quota_of(top / group);
    if (quota) smallest = std::min(*quota, smallest.value_or(*quota));
  }
  return smallest;
}

std::optional<double> quota_of_line(const std::filesystem::path& groups, const std::string& line) {
  const auto first = line.find(':');
  const auto second = line.find(':', first + 1);
  if (first == std::string::npos || second == std::string::npos) return std::nullopt;
  const std::string controllers = line.substr(first + 1, second - first - 1);
  const std::filesystem::path group = std::filesystem::path(line.substr(second + 1)).relative_path();
  if (controllers.empty()) return smallest_quota(groups, group, quota_of_version_2);
  if (("," + controllers + ",").find(",cpu,") == std::string::npos) return std::nullopt;
  return smallest_quota(groups / controllers, group, quota_of_version_1);
}

}  // namespace

std::optional<int> cgroup_cores(const std::filesystem::path& root) {
  std::ifstream file(root / "proc/self/cgroup");
  std::optional<double> smallest;
  for (std::string line; std::getline(file, line);) {
    const auto quota = quota_of_line(root / "sys/fs/cgroup", line);
    if (quota) smallest = std::min(*quota, smallest.value_or(*quota));
  }
  if (!smallest) return std::nullopt;
  return static_cast<int>(std::ceil(std::min(*smallest, 1e6)));
}

}  // namespace edgewise
