// SPDX-License-Identifier: Apache-2.0
#include "edgewise/models/interval_space.h"

#include <iterator>

#include "edgewise/base/checked.h"

namespace edgewise {

Interval IntervalSpace::take(NodeIndex size) {
  for (auto free = free_.begin(); free != free_.end(); ++free) {
    const auto [begin, end] = *free;
    if (end - begin < size) continue;
    free_.erase(free);
    if (end - begin > size) free_.emplace(begin + size, end);
    return {.begin = begin, .end = begin + size};
  }
  const NodeIndex begin = end_;
  end_ = checked_add(end_, size, "IntervalSpace: the end of an interval");
  return {.begin = begin, .end = end_};
}

void IntervalSpace::give_back(Interval interval) {
  if (interval.begin == interval.end) return;
  auto place = free_.emplace(interval.begin, interval.end).first;
  if (const auto next = std::next(place); next != free_.end() && next->first == place->second) {
    place->second = next->second;
    free_.erase(next);
  }
  if (place != free_.begin()) {
    if (const auto before = std::prev(place); before->second == place->first) {
      before->second = place->second;
      free_.erase(place);
      place = before;
    }
  }
  if (place->second != end_) return;
  end_ = place->first;
  free_.erase(place);
}

}  // namespace edgewise
