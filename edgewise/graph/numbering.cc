// SPDX-License-Identifier: Apache-2.0
#include "edgewise/graph/numbering.h"

#include <algorithm>
#include <utility>

#include "edgewise/base/checked.h"

namespace edgewise {

Numbering::Numbering(std::int64_t num_parts, std::int64_t num_kinds, std::vector<std::int64_t> counts)
    : num_parts_(num_parts), num_kinds_(num_kinds), counts_(std::move(counts)) {
  begin_.reserve(counts_.size() + 1);
  begin_in_kind_.reserve(counts_.size());
  std::vector<std::int64_t> next_in_kind(num_kinds, 0);
  for (std::int64_t part = 0; part < num_parts; ++part) {
    for (std::int64_t kind = 0; kind < num_kinds; ++kind) {
      const std::int64_t count = counts_[part * num_kinds + kind];
      begin_.push_back(checked_add(begin_.back(), count, "Graph: the number of edges"));
      begin_in_kind_.push_back(next_in_kind[kind]);
      next_in_kind[kind] += count;
    }
  }
}

Numbering::Range Numbering::range(std::int64_t part, std::int64_t kind) const {
  const std::int64_t index = part * num_kinds_ + kind;
  return {.begin = begin_[index], .begin_in_kind = begin_in_kind_[index], .count = counts_[index]};
}

Numbering::Location Numbering::find(std::int64_t number) const {
  const std::int64_t index = std::ranges::upper_bound(begin_, number) - begin_.begin() - 1;
  return {.part = index / num_kinds_,
          .kind = index % num_kinds_,
          .index_in_kind = begin_in_kind_[index] + number - begin_[index]};
}

}  // namespace edgewise
