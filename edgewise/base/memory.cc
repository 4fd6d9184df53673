// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/memory.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>

#include "edgewise/base/address_space.h"
#include "edgewise/base/cgroup.h"
#include "edgewise/base/error.h"

namespace edgewise {
namespace {

constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::max();

/// Reads lines such as "MemAvailable:   20123456 kB". Without MemAvailable, no limit is known.
std::int64_t machine_memory(const std::filesystem::path& root) {
  std::ifstream file(root / "proc/meminfo");
  std::optional<std::int64_t> available;
  std::int64_t swap = 0;
  std::string name;
  std::int64_t kibibytes = 0;
  for (std::string unit; file >> name >> kibibytes && std::getline(file, unit);) {
    if (name == "MemAvailable:") available = kibibytes * 1024;
    if (name == "SwapFree:") swap = kibibytes * 1024;
  }
  return available ? *available + swap : kUnknown;
}

}  // namespace

std::int64_t available_memory(const std::string& root) {
  return std::min({machine_memory(root), cgroup_memory(root).value_or(kUnknown), address_space_left()});
}

void require_memory(double bytes, std::string_view what, std::string_view advice) {
  const auto available = static_cast<double>(available_memory());
  check(bytes <= available, "{} needs at least {} of memory, but {} are available; {}", what, memory_text(bytes),
        memory_text(available), advice);
}

std::string memory_text(double bytes) {
  constexpr std::array kUnits = {"bytes", "kB", "MB", "GB", "TB", "PB", "EB"};
  std::size_t unit = 0;
  for (; bytes >= 999.95 && unit + 1 < kUnits.size(); ++unit) bytes /= 1000;
  return unit == 0 ? fmt::format("{:.0f} bytes", bytes) : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

/// getrusage would return the parent's peak if that was larger at the fork.
std::int64_t peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::int64_t kibibytes = 0;
    if (word == "VmHWM:" && status >> kibibytes) return kibibytes * 1024;
  }
  fail("peak_memory: /proc/self/status has no VmHWM, needs it");
}

}  // namespace edgewise
