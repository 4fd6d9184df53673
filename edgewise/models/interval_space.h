// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include "edgewise/graph/relation_view.h"

namespace edgewise {

/// Gives out intervals of numbers that do not overlap: the lowest that is free. O(free intervals).
class IntervalSpace {
 public:
  Interval take(NodeIndex size);
  void give_back(Interval interval);

  /// All that are out are below it.
  NodeIndex end() const { return end_; }

 private:
  std::map<NodeIndex, NodeIndex> free_;  // from begin to end; no two touch, and none touches end_
  NodeIndex end_ = 0;
};

}  // namespace edgewise
