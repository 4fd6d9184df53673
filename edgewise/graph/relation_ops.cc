// SPDX-License-Identifier: Apache-2.0
#include "edgewise/graph/relation_ops.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/graph/node_count.h"

namespace edgewise {
namespace {

void check_rows(const Relation& relation, std::span<const NodeIndex> rows, std::string_view function) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    check(rows[i] >= 0 && rows[i] < relation.num_destinations(), "{}: rows[{}] is {}, needs a number in [0, {})",
          function, i, rows[i], relation.num_destinations());
  }
}

void check_ascending(std::span<const NodeIndex> sources, std::int64_t num_sources, std::string_view function) {
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const NodeIndex least = i == 0 ? 0 : sources[i - 1] + 1;
    check(sources[i] >= least && sources[i] < num_sources, "{}: sources[{}] is {}, needs ascending numbers in [0, {})",
          function, i, sources[i], num_sources);
  }
}

/// Returns a relation whose row i is row `original_row(i)` of `relation`, or empty if `original_row(i)` is nullopt.
template <typename OriginalRow>
Relation rearrange_rows(const Relation& relation, std::int64_t num_rows, OriginalRow original_row) {
  const RelationView rows = relation.view();
  if (relation.form() == Relation::Form::kIntervals) {
    std::vector<Interval> intervals(num_rows);
    for (std::int64_t i = 0; i < num_rows; ++i) {
      if (const auto row = original_row(i)) intervals[i] = rows.intervals[*row];
    }
    return Relation::from_intervals(relation.num_sources(), std::move(intervals));
  }

  return Relation::from_rows(relation.num_sources(), num_rows, [&](std::int64_t i, std::vector<NodeIndex>& sources) {
    if (const auto row = original_row(i)) {
      sources.insert(sources.end(), rows.sources + rows.row_begin[*row], rows.sources + rows.row_begin[*row + 1]);
    }
  });
}

/// Returns the union of two intervals if it is an interval, else nothing.
std::optional<Interval> unite_rows(const Interval& a, const Interval& b) {
  if (a.begin == a.end) return b;
  if (b.begin == b.end) return a;
  if (a.end < b.begin || b.end < a.begin) return std::nullopt;
  return Interval{.begin = std::min(a.begin, b.begin), .end = std::max(a.end, b.end)};
}

std::optional<Relation> unite_intervals(const Relation& a, const Relation& b) {
  if (a.form() != Relation::Form::kIntervals || b.form() != Relation::Form::kIntervals) return std::nullopt;

  const Interval* a_rows = a.view().intervals;
  const Interval* b_rows = b.view().intervals;
  std::vector<Interval> rows(a.num_destinations());
  for (std::size_t d = 0; d < rows.size(); ++d) {
    const auto row = unite_rows(a_rows[d], b_rows[d]);
    if (!row.has_value()) return std::nullopt;
    rows[d] = *row;
  }
  return Relation::from_intervals(a.num_sources(), std::move(rows));
}

/// Appends the sources of a row, each plus `shift`.
void append_row(const RelationView& rows, std::int64_t destination, std::int64_t shift,
                std::vector<NodeIndex>& sources) {
  for (EdgeIndex edge = rows.row_begin[destination]; edge < rows.row_begin[destination + 1]; ++edge) {
    sources.push_back(static_cast<NodeIndex>(rows.source(destination, edge) + shift));
  }
}

Relation join_intervals(std::span<const Relation> parts, std::int64_t num_sources, std::int64_t num_destinations) {
  std::vector<Interval> rows;
  rows.reserve(num_destinations);
  std::int64_t first_source = 0;
  for (const Relation& part : parts) {
    const auto shift = static_cast<NodeIndex>(first_source);
    for (const auto& [begin, end] : std::span(part.view().intervals, part.num_destinations())) {
      rows.push_back({.begin = begin + shift, .end = end + shift});
    }
    first_source += part.num_sources();
  }
  return Relation::from_intervals(num_sources, std::move(rows));
}

Relation join_rows(std::span<const Relation> parts, std::int64_t num_sources, std::int64_t num_destinations) {
  std::vector<EdgeIndex> row_begin = {0};
  row_begin.reserve(num_destinations + 1);
  std::vector<NodeIndex> sources;
  std::int64_t first_source = 0;
  for (const Relation& part : parts) {
    const RelationView rows = part.view();
    for (std::int64_t d = 0; d < rows.num_destinations; ++d) {
      append_row(rows, d, first_source, sources);
      row_begin.push_back(std::ssize(sources));
    }
    first_source += rows.num_sources;
  }
  return Relation::from_csr(num_sources, std::move(row_begin), std::move(sources)).prefer_intervals();
}

}  // namespace

ReversedRelation reverse(const Relation& relation) {
  const RelationView rows = relation.view();
  std::vector<EdgeIndex> row_begin(rows.num_sources + 1, 0);
  for_each_edge(rows, [&](NodeIndex source, NodeIndex, EdgeIndex) { ++row_begin[source + 1]; });
  std::partial_sum(row_begin.begin(), row_begin.end(), row_begin.begin());

  std::vector<EdgeIndex> next(row_begin.begin(), row_begin.end() - 1);
  std::vector<NodeIndex> sources(relation.num_edges());
  std::vector<EdgeIndex> original(relation.num_edges());
  for_each_edge(rows, [&](NodeIndex source, NodeIndex destination, EdgeIndex edge) {
    const EdgeIndex reversed = next[source]++;
    sources[reversed] = destination;
    original[reversed] = edge;
  });
  auto reversed =
      Relation::from_csr(rows.num_destinations, std::move(row_begin), std::move(sources)).prefer_intervals();
  return {.relation = std::move(reversed), .edge = std::move(original)};
}

Relation keep_rows(const Relation& relation, std::span<const NodeIndex> rows) {
  check_rows(relation, rows, "keep_rows");
  std::vector<char> is_kept(relation.num_destinations(), 0);
  for (const NodeIndex row : rows) is_kept[row] = 1;
  return rearrange_rows(relation, relation.num_destinations(),
                        [&](std::int64_t row) { return is_kept[row] != 0 ? std::optional(row) : std::nullopt; });
}

Relation select_rows(const Relation& relation, std::span<const NodeIndex> rows) {
  check_rows(relation, rows, "select_rows");
  return rearrange_rows(relation, std::ssize(rows), [&](std::int64_t i) { return std::optional(rows[i]); });
}

Relation select_nodes(const Relation& relation, std::span<const NodeIndex> destinations,
                      std::span<const NodeIndex> sources) {
  check_rows(relation, destinations, "select_nodes");
  check_ascending(sources, relation.num_sources(), "select_nodes");
  const RelationView rows = relation.view();
  if (relation.form() == Relation::Form::kIntervals) {
    const auto count_below = [&](NodeIndex source) {
      return static_cast<NodeIndex>(std::ranges::lower_bound(sources, source) - sources.begin());
    };
    std::vector<Interval> intervals;
    intervals.reserve(destinations.size());
    for (const NodeIndex destination : destinations) {
      const auto& [begin, end] = rows.intervals[destination];
      intervals.push_back({.begin = count_below(begin), .end = count_below(end)});
    }
    return Relation::from_intervals(std::ssize(sources), std::move(intervals));
  }

  constexpr NodeIndex kNotSelected = -1;
  std::vector<NodeIndex> new_number(relation.num_sources(), kNotSelected);
  for (std::size_t i = 0; i < sources.size(); ++i) new_number[sources[i]] = static_cast<NodeIndex>(i);
  return Relation::from_rows(std::ssize(sources), std::ssize(destinations),
                             [&](std::int64_t i, std::vector<NodeIndex>& kept) {
                               const NodeIndex row = destinations[i];
                               for (EdgeIndex edge = rows.row_begin[row]; edge < rows.row_begin[row + 1]; ++edge) {
                                 const NodeIndex number = new_number[rows.sources[edge]];
                                 if (number != kNotSelected) kept.push_back(number);
                               }
                             });
}

Relation keep_edges(const Relation& relation, std::span<const EdgeIndex> edges) {
  const std::vector<EdgeIndex> kept = sort_edges(edges, relation.num_edges(), "keep_edges");
  const RelationView rows = relation.view();
  return Relation::from_rows(rows.num_sources, rows.num_destinations,
                             [&](std::int64_t d, std::vector<NodeIndex>& sources) {
                               while (sources.size() < kept.size() && kept[sources.size()] < rows.row_begin[d + 1]) {
                                 sources.push_back(rows.source(d, kept[sources.size()]));
                               }
                             });
}

std::vector<EdgeIndex> find_edges_of(const Relation& part, const Relation& all) {
  check(part.num_sources() == all.num_sources() && part.num_destinations() == all.num_destinations(),
        "find_edges_of: part has {} sources and {} destinations, needs {} and {} as all has", part.num_sources(),
        part.num_destinations(), all.num_sources(), all.num_destinations());
  const RelationView rows = part.view();
  std::vector<EdgeIndex> edges;
  EdgeIndex next = 0;
  for_each_edge(all.view(), [&](NodeIndex source, NodeIndex row, EdgeIndex edge) {
    if (edge == all.row_begin()[row]) next = rows.row_begin[row];
    while (next < rows.row_begin[row + 1] && rows.source(row, next) < source) ++next;
    if (next < rows.row_begin[row + 1] && rows.source(row, next) == source) edges.push_back(edge);
  });
  return edges;
}

Relation unite(const Relation& a, const Relation& b) {
  check(a.num_sources() == b.num_sources() && a.num_destinations() == b.num_destinations(),
        "unite: b has {} sources and {} destinations, needs {} and {} as a has", b.num_sources(), b.num_destinations(),
        a.num_sources(), a.num_destinations());
  if (auto intervals = unite_intervals(a, b)) return *std::move(intervals);

  return Relation::from_rows(a.num_sources(), a.num_destinations(),
                             [&](std::int64_t d, std::vector<NodeIndex>& sources) {
                               const std::ptrdiff_t begin = std::ssize(sources);
                               append_row(a.view(), d, /*shift=*/0, sources);
                               append_row(b.view(), d, /*shift=*/0, sources);
                               const auto row = sources.begin() + begin;
                               std::sort(row, sources.end());
                               sources.erase(std::unique(row, sources.end()), sources.end());
                             });
}

Relation join(std::span<const Relation> parts) {
  std::int64_t num_sources = 0;
  std::int64_t num_destinations = 0;
  bool are_intervals = true;
  for (const Relation& part : parts) {
    num_sources += part.num_sources();
    num_destinations += part.num_destinations();
    are_intervals = are_intervals && part.form() == Relation::Form::kIntervals;
  }
  check_node_count(num_sources, "join: the number of sources of all parts");
  check_node_count(num_destinations, "join: the number of destinations of all parts");
  return are_intervals ? join_intervals(parts, num_sources, num_destinations)
                       : join_rows(parts, num_sources, num_destinations);
}

std::vector<EdgeIndex> sort_edges(std::span<const EdgeIndex> edges, EdgeIndex num_edges, std::string_view function) {
  for (std::size_t i = 0; i < edges.size(); ++i) {
    check(edges[i] >= 0 && edges[i] < num_edges, "{}: edges[{}] is {}, needs a number in [0, {})", function, i,
          edges[i], num_edges);
  }
  std::vector<EdgeIndex> sorted(edges.begin(), edges.end());
  if (!std::ranges::is_sorted(sorted)) std::ranges::sort(sorted);
  const auto twice = std::ranges::adjacent_find(sorted);
  if (twice != sorted.end()) fail("{}: edges has number {} twice, needs each number at most once", function, *twice);
  return sorted;
}

}  // namespace edgewise
