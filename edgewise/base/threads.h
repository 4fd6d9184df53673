// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

namespace edgewise {

/// Returns how many cores this process may use: the smaller of its affinity mask and cgroup_cores() (cgroup.h), at
/// least 1.
int available_cores();

/// Sets how many threads parallel_for and OpenMP regions (libtorch's, for example) use when this thread calls them.
/// Throws Error below 1.
void set_num_threads(int n);
int num_threads();

/// Returns the number of threads that a program uses unless its user says otherwise: OMP_NUM_THREADS or, if the
/// environment does not have it, available_cores().
int default_num_threads();

/// Sets the number of threads for a scope.
class NumThreadsScope {
 public:
  explicit NumThreadsScope(int n) : before_(num_threads()) { set_num_threads(n); }
  NumThreadsScope(const NumThreadsScope&) = delete;
  NumThreadsScope& operator=(const NumThreadsScope&) = delete;
  ~NumThreadsScope() { set_num_threads(before_); }

 private:
  int before_;
};

/// Until the scope ends, OpenMP regions that this thread calls run in this thread alone; parallel_for still uses
/// num_threads() threads. The threads of OpenMP wait for each other in busy loops. If another process needs the cores,
/// this waiting can take longer than the work. The threads of parallel_for sleep instead.
class SerialOpenMpScope {
 public:
  SerialOpenMpScope();
  SerialOpenMpScope(const SerialOpenMpScope&) = delete;
  SerialOpenMpScope& operator=(const SerialOpenMpScope&) = delete;
  ~SerialOpenMpScope();

 private:
  bool is_outermost_;
};

namespace detail {
void run_parts(int parts, void (*run)(void* context, int part), void* context);
}

/// Splits [0, count) into ranges and calls `fn(begin, end)` for each range, in this thread and up to num_threads() - 1
/// others. If there are several ranges, each has at least `grain` elements. There are at most 4 ranges per thread; if
/// there are more ranges than threads, all threads get equally many. The ranges depend only on count, grain and
/// num_threads(); which thread calls which range differs from call to call. After all calls, rethrows the exception of
/// the first range that failed. Inside another parallel_for or an OpenMP region, the calling thread handles all ranges,
/// one after the other. Uses fewer threads if the system refuses to start one.
void parallel_for(std::int64_t count, std::int64_t grain, auto&& fn) {
  constexpr std::int64_t kRangesPerThread = 4;
  if (count <= 0) return;
  const std::int64_t smallest = std::max<std::int64_t>(grain, 1);
  const std::int64_t threads = num_threads();
  const std::int64_t most = threads == 1 ? 1 : kRangesPerThread * threads;
  const std::int64_t fitting = std::clamp<std::int64_t>(count / smallest, 1, most);
  const auto parts = static_cast<int>(fitting > threads ? fitting - fitting % threads : fitting);
  if (parts == 1) {
    fn(std::int64_t{0}, count);
    return;
  }
  auto begin_of = [&](std::int64_t part) { return part * (count / parts) + part * (count % parts) / parts; };
  auto run_part = [&](int part) { fn(begin_of(part), begin_of(part + 1)); };
  detail::run_parts(
      parts, [](void* context, int part) { (*static_cast<decltype(run_part)*>(context))(part); }, &run_part);
}

}  // namespace edgewise
