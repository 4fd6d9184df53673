// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace edgewise {

/// Cores that this process may use: the smaller of its affinity mask and its control group's quota, at least 1.
/// A quota of one and a half cores counts as two.
int available_cores();

/// How many threads parallel_for uses from now on when called from this thread, and OpenMP regions (libtorch's and
/// oneDNN's among them) with it. Throws Error below 1.
void set_num_threads(int n);
int num_threads();

namespace detail {
void run_parts(int parts, void (*run)(void* context, int part), void* context);
}

/// Calls `fn(begin, end)` on ranges that together are [0, count), each on a thread of its own and, where there are
/// several, of about `grain` or more. The ranges depend on count, grain and num_threads() alone, never on timing. An
/// exception comes out after all ranges are done; of several, that of the first range. Called from a parallel region,
/// it goes through the ranges one by one on the thread that calls.
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
