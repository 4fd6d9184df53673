// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/cgroup.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

namespace edgewise {
namespace {

namespace fs = std::filesystem;

/// Reads a limit from the files of one group.
using ReadLimit = std::optional<double> (*)(const fs::path& group);

/// A limit that both versions of control groups have.
struct Limit {
  std::string controller;  // the controller in version 1
  ReadLimit read_v1;
  ReadLimit read_v2;
};

std::optional<double> read_number(const fs::path& path) {
  std::ifstream file(path);
  double number = 0;
  if (!(file >> number)) return std::nullopt;
  return number;
}

/// Version 2: the file has microseconds of core time per period, "150000 100000" or "max 100000".
std::optional<double> read_quota_v2(const fs::path& group) {
  std::ifstream file(group / "cpu.max");
  double quota = 0;
  double period = 0;
  if (!(file >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

/// Version 1: quota and period have a file each, and a quota of -1 is no limit.
std::optional<double> read_quota_v1(const fs::path& group) {
  const double quota = read_number(group / "cpu.cfs_quota_us").value_or(0);
  const double period = read_number(group / "cpu.cfs_period_us").value_or(0);
  if (quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

/// Returns the bytes of page cache that the system can reclaim: the entry `cache` of memory.stat minus `shared`, its
/// shared memory.
double read_page_cache(const fs::path& group, const std::string& cache, const std::string& shared) {
  std::ifstream file(group / "memory.stat");
  double bytes = 0;
  std::string name;
  for (double number = 0; file >> name >> number;) {
    if (name == cache) bytes += number;
    if (name == shared) bytes -= number;
  }
  return std::max(bytes, 0.0);
}

/// Version 2 writes "max" for no limit.
std::optional<double> read_free_memory_v2(const fs::path& group) {
  const auto limit = read_number(group / "memory.max");
  const auto used = read_number(group / "memory.current");
  if (!limit || !used) return std::nullopt;
  return *limit - *used + read_page_cache(group, "file", "shmem");
}

/// Version 1 writes "no limit" as a number near 2^63.
std::optional<double> read_free_memory_v1(const fs::path& group) {
  const auto limit = read_number(group / "memory.limit_in_bytes");
  const auto used = read_number(group / "memory.usage_in_bytes");
  if (!limit || !used || *limit > 0x1p62) return std::nullopt;
  return *limit - *used + read_page_cache(group, "total_cache", "total_shmem");
}

std::optional<double> smaller_of(std::optional<double> a, std::optional<double> b) {
  return a && b ? std::min(*a, *b) : (a ? a : b);
}

/// Returns the smallest limit of a group and the groups above it. Inside a container, often only `top` exists.
std::optional<double> smallest_of_groups(const fs::path& top, fs::path group, ReadLimit read) {
  std::optional<double> smallest = read(top);
  for (; !group.empty(); group = group.parent_path()) smallest = smaller_of(smallest, read(top / group));
  return smallest;
}

/// Reads the limit of one line of /proc/self/cgroup: "0::/group" (version 2) or "4:cpu,cpuacct:/group" (version 1).
std::optional<double> limit_of_line(const fs::path& mount, const std::string& line, const Limit& limit) {
  const auto first = line.find(':');
  const auto second = line.find(':', first + 1);
  if (first == std::string::npos || second == std::string::npos) return std::nullopt;
  const std::string controllers = line.substr(first + 1, second - first - 1);
  const fs::path group = fs::path(line.substr(second + 1)).relative_path();
  if (controllers.empty()) return smallest_of_groups(mount, group, limit.read_v2);
  if (("," + controllers + ",").find("," + limit.controller + ",") == std::string::npos) return std::nullopt;
  return smallest_of_groups(mount / controllers, group, limit.read_v1);
}

std::optional<double> smallest_limit(const fs::path& root, const Limit& limit) {
  std::ifstream file(root / "proc/self/cgroup");
  std::optional<double> smallest;
  for (std::string line; std::getline(file, line);) {
    smallest = smaller_of(smallest, limit_of_line(root / "sys/fs/cgroup", line, limit));
  }
  return smallest;
}

}  // namespace

std::optional<int> cgroup_cores(const std::string& root) {
  const auto cores = smallest_limit(root, {"cpu", read_quota_v1, read_quota_v2});
  if (!cores) return std::nullopt;
  return static_cast<int>(std::ceil(std::min(*cores, 1e6)));
}

std::optional<std::int64_t> cgroup_memory(const std::string& root) {
  const auto bytes = smallest_limit(root, {"memory", read_free_memory_v1, read_free_memory_v2});
  if (!bytes) return std::nullopt;
  return static_cast<std::int64_t>(std::clamp(*bytes, 0.0, 0x1p62));
}

}  // namespace edgewise
