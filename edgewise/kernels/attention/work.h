// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "edgewise/base/threads.h"
#include "edgewise/graph/relation_view.h"
#include "edgewise/kernels/attention/heads.h"

// How attention kernels share out a relation among threads: by edges, so that no long sentence holds up the others.
namespace edgewise::kernels {

/// Work below which a second thread costs more than it saves, in edges of one head.
inline constexpr std::int64_t kSmallestWork = 1024;

/// What the rows before `row` cost a head: a unit an edge, and one a row.
inline std::int64_t cost_before(const RelationView& relation, std::int64_t row) {
  return relation.row_begin[row] + row;
}

/// Calls fn(begin, end) on ranges that together are all items, sharing them out by cost. `cost_before_item(i)` is what
/// the items before i cost; it grows with i.
template <class CostBefore, class Fn>
void parallel_ranges(std::int64_t num_items, CostBefore cost_before_item, Fn fn) {
  if (num_items == 0) return;

  auto first_item_at = [&](std::int64_t cost) {
    std::int64_t first = 0;
    std::int64_t last = num_items;
    while (first < last) {
      const std::int64_t middle = first + (last - first) / 2;
      if (cost_before_item(middle) < cost) {
        first = middle + 1;
      } else {
        last = middle;
      }
    }
    return first;
  };
  parallel_for(cost_before_item(num_items), kSmallestWork, [&](std::int64_t cost_begin, std::int64_t cost_end) {
    fn(first_item_at(cost_begin), first_item_at(cost_end));
  });
}

/// Calls fn(item, some of the heads) so that all pairs are done, sharing them out by cost, of which `cost_before_item`
/// says a head's. An item has its heads together unless two threads share it.
template <class CostBefore, class Fn>
void parallel_head_ranges(std::int64_t num_items, HeadRange heads, CostBefore cost_before_item, Fn fn) {
  const std::int64_t num_heads = heads.size();
  auto cost_before_pair = [&](std::int64_t pair) {
    const std::int64_t item = pair / num_heads;
    const std::int64_t before_item = cost_before_item(item);
    const std::int64_t heads_before = pair % num_heads;
    const std::int64_t of_item = heads_before == 0 ? 0 : cost_before_item(item + 1) - before_item;
    return before_item * num_heads + heads_before * of_item;
  };
  parallel_ranges(num_items * num_heads, cost_before_pair, [&](std::int64_t pair_begin, std::int64_t pair_end) {
    for (std::int64_t pair = pair_begin; pair < pair_end;) {
      const std::int64_t first_head = pair % num_heads;
      const std::int64_t count = std::min(num_heads - first_head, pair_end - pair);
      fn(pair / num_heads, HeadRange{heads.begin + first_head, heads.begin + first_head + count});
      pair += count;
    }
  });
}

/// Calls fn(item, head) for all pairs, as above.
template <class CostBefore, class Fn>
void parallel_pairs(std::int64_t num_items, HeadRange heads, CostBefore cost_before_item, Fn fn) {
  parallel_head_ranges(num_items, heads, cost_before_item, [&](std::int64_t item, HeadRange some) {
    for (std::int64_t head = some.begin; head < some.end; ++head) fn(item, head);
  });
}

/// Calls fn(row_begin, row_end) on ranges that together are all rows.
template <class Fn>
void parallel_row_ranges(const RelationView& relation, Fn fn) {
  parallel_ranges(
      relation.num_destinations, [&](std::int64_t row) { return cost_before(relation, row); }, fn);
}

/// Calls fn(row, head) for all rows and heads.
template <class Fn>
void parallel_rows(const RelationView& relation, HeadRange heads, Fn fn) {
  parallel_pairs(
      relation.num_destinations, heads, [&](std::int64_t row) { return cost_before(relation, row); }, fn);
}

/// Cuts the rows into runs no two of which share a source, such as the sentences of a batch: the first row of each run,
/// and the number of rows. Whoever sums over the edges out of a source may take runs in parallel and keep the order of
/// each sum, which the number of threads then cannot change.
std::vector<std::int64_t> independent_runs(const RelationView& relation);

/// Calls fn(first_row, end_row, head) for all independent runs and heads.
template <class Fn>
void parallel_runs(const RelationView& relation, HeadRange heads, Fn fn) {
  const std::vector<std::int64_t> runs = independent_runs(relation);
  parallel_pairs(
      static_cast<std::int64_t>(runs.size()) - 1, heads,
      [&](std::int64_t run) { return cost_before(relation, runs[run]); },
      [&](std::int64_t run, std::int64_t head) { fn(runs[run], runs[run + 1], head); });
}

}  // namespace edgewise::kernels
