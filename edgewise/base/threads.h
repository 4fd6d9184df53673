// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

namespace edgewise {

/// Returns how many cores this process may use: the smaller of its affinity mask and cgroup_cores(), at least 1.
int available_cores();

/// Returns the CPU quota of this process's control group and the groups above it (cgroup version 1 or 2) in cores,
/// rounded up: 1.5 becomes 2. Returns nothing without a quota. `root` is the folder with proc/self/cgroup and
/// sys/fs/cgroup.
std::optional<int> cgroup_cores(const std::string& root = "/");

/// Sets how many threads parallel_for and OpenMP regions (libtorch's and oneDNN's too) use when this thread calls them.
/// Throws Error below 1.
void set_num_threads(int n);
int num_threads();

namespace detail {
void run_parts(int parts, void (*run)(void* context, int part), void* context);
}

/// Splits [0, count) into ranges and calls `fn(begin, end)` for each range in its own thread. If there are several
/// ranges, each has at least `grain` elements. The ranges depend only on count, grain and num_threads(). After all
/// calls, rethrows the exception of the first range that failed. Inside a parallel region, the calling thread handles
/// all ranges, one after the other.
template <class Fn>
void parallel_for(std::int64_t count, std::int64_t grain, Fn&& fn) {
  if (count <= 0) return;
  const std::int64_t smallest = std::max<std::int64_t>(grain, 1);
  const auto parts = static_cast<int>(std::clamp<std::int64_t>(count / smallest, 1, num_threads()));
  if (parts == 1) {
    fn(std::int64_t{0}, count);
    return;
  }
  auto run_part = [&](int part) {
    const std::int64_t size = count / parts;
    const std::int64_t longer_parts = count % parts;
    const std::int64_t begin = part * size + std::min<std::int64_t>(part, longer_parts);
    fn(begin, begin + size + (part < longer_parts ? 1 : 0));
  };
  detail::run_parts(
      parts, [](void* context, int part) { (*static_cast<decltype(run_part)*>(context))(part); }, &run_part);
}

}  // namespace edgewise
