// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "edgewise/base/threads.h"
#include "edgewise/graph/relation_view.h"
#include "edgewise/kernels/attention/attention.h"

// Parallel loops over the rows and heads of a relation. Threads get about equal numbers of edges, not of rows, so that
// no thread waits for the thread of a long sentence.
namespace edgewise::kernels {

/// The cost of a range, at least; 1 is the cost of one edge of one head.
inline constexpr std::int64_t kMinWorkPerRange = 1024;

/// Returns the cost of the rows before `row` for one head: 1 for each edge and 1 for each row.
inline std::int64_t cost_before(const RelationView& relation, std::int64_t row) {
  return relation.row_begin[row] + row;
}

/// Calls fn(begin, end) in parallel on disjoint ranges of about equal cost that together cover [0, num_items).
/// `cost_before_item(i)` returns the cost of the items before i, which does not fall with i.
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
  const std::int64_t total = cost_before_item(num_items);
  if (total == 0) return fn(0, num_items);
  parallel_for(total, kMinWorkPerRange, [&](std::int64_t cost_begin, std::int64_t cost_end) {
    // Items of cost 0 at the end belong to the last range.
    fn(first_item_at(cost_begin), cost_end == total ? num_items : first_item_at(cost_end));
  });
}

/// Calls fn(item, range of heads) in parallel so that each pair of item and head is visited once. Threads get about
/// equal cost; `cost_before_item(i)` returns the cost of the items before i for one head. One call gets all heads of an
/// item, unless several threads share the item.
template <class CostBefore, class Fn>
void parallel_head_ranges(std::int64_t num_items, HeadRange heads, CostBefore cost_before_item, Fn fn) {
  const std::int64_t num_heads = heads.size();
  auto cost_before_pair = [&](std::int64_t pair) {
    const std::int64_t item = pair / num_heads;
    const std::int64_t before_item = cost_before_item(item);
    const std::int64_t heads_before = pair % num_heads;
    const std::int64_t item_cost = heads_before == 0 ? 0 : cost_before_item(item + 1) - before_item;
    return before_item * num_heads + heads_before * item_cost;
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

/// Calls fn(item, head) in parallel for all pairs. `cost_before_item` is as in parallel_head_ranges.
template <class CostBefore, class Fn>
void parallel_pairs(std::int64_t num_items, HeadRange heads, CostBefore cost_before_item, Fn fn) {
  parallel_head_ranges(num_items, heads, cost_before_item, [&](std::int64_t item, HeadRange part) {
    for (std::int64_t head = part.begin; head < part.end; ++head) fn(item, head);
  });
}

/// Calls fn(row_begin, row_end) in parallel on disjoint ranges that together cover all rows.
template <class Fn>
void parallel_row_ranges(const RelationView& relation, Fn fn) {
  parallel_ranges(
      relation.num_destinations, [&](std::int64_t row) { return cost_before(relation, row); }, fn);
}

/// Calls fn(row, head) in parallel for all rows and heads.
template <class Fn>
void parallel_rows(const RelationView& relation, HeadRange heads, Fn fn) {
  parallel_pairs(
      relation.num_destinations, heads, [&](std::int64_t row) { return cost_before(relation, row); }, fn);
}

/// Divides the rows into runs of consecutive rows, such as the sentences of a batch. No source has edges into two runs,
/// so threads can compute runs in parallel, and each sum over the edges out of a source has one fixed order. Returns
/// the first row of each run, and then the number of rows.
std::vector<std::int64_t> find_independent_runs(const RelationView& relation);

/// Calls fn(row_begin, row_end, head) in parallel for all independent runs and heads.
template <class Fn>
void parallel_runs(const RelationView& relation, HeadRange heads, Fn fn) {
  const std::vector<std::int64_t> runs = find_independent_runs(relation);
  parallel_pairs(
      static_cast<std::int64_t>(runs.size()) - 1, heads,
      [&](std::int64_t run) { return cost_before(relation, runs[run]); },
      [&](std::int64_t run, std::int64_t head) { fn(runs[run], runs[run + 1], head); });
}

}  // namespace edgewise::kernels
