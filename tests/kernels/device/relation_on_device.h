// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "edgewise/graph/relation_view.h"
#include "tests/kernels/implementations.h"

namespace edgewise::kernels {

/// A copy of a relation in the memory of the kernels that the program tests.
class RelationOnDevice {
 public:
  explicit RelationOnDevice(const RelationView& relation)
      : view_(relation),
        row_begin_(std::vector<EdgeIndex>(relation.row_begin, relation.row_begin + relation.num_destinations + 1)),
        intervals_(copy_of(relation.intervals, relation.num_destinations)),
        sources_(copy_of(relation.sources, relation.num_edges())) {
    view_.row_begin = row_begin_.data();
    if (view_.intervals != nullptr) view_.intervals = intervals_.data();
    if (view_.sources != nullptr) view_.sources = sources_.data();
  }

  const RelationView& view() const { return view_; }

 private:
  template <typename T>
  static std::vector<T> copy_of(const T* from, std::int64_t count) {
    return from == nullptr ? std::vector<T>() : std::vector<T>(from, from + count);
  }

  RelationView view_;
  Array<EdgeIndex> row_begin_;
  Array<Interval> intervals_;
  Array<NodeIndex> sources_;
};

}  // namespace edgewise::kernels
