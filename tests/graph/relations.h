// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rapidcheck.h>

#include <algorithm>
#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "edgewise/graph/relation.h"
#include "tests/support/error_of.h"

namespace edgewise {

using Edge = std::pair<NodeIndex, NodeIndex>;  // source, destination

/// Returns the source and destination of each edge in the order of the edge numbers.
inline std::vector<Edge> ends_of(const EdgeList& edges) {
  std::vector<Edge> ends;
  for (std::size_t i = 0; i < edges.sources.size(); ++i) ends.emplace_back(edges.sources[i], edges.destinations[i]);
  return ends;
}
inline std::vector<Edge> ends_of(const Relation& relation) { return ends_of(relation.edges()); }

inline bool has_intervals(const Relation& relation) { return relation.form() == Relation::Form::kIntervals; }

inline Relation relation_of(std::int64_t num_sources, std::int64_t num_destinations, const std::vector<Edge>& ends) {
  EdgeList edges;
  for (const auto& [source, destination] : ends) {
    edges.sources.push_back(source);
    edges.destinations.push_back(destination);
  }
  return Relation::from_edges(num_sources, num_destinations, edges);
}

inline void showValue(const Relation& relation, std::ostream& out) {
  out << relation.num_sources() << " to " << relation.num_destinations() << ":";
  for (const auto& [source, destination] : ends_of(relation)) out << " " << source << ">" << destination;
}

/// Draws uniformly from [from, end). The range of rapidcheck alone depends on the test's size, which is often small.
template <typename Number>
rc::Gen<Number> in_range(Number from, Number end) {
  return rc::gen::resize(rc::kNominalSize, rc::gen::inRange(from, end));
}

/// Draws a list whose length is in [from, end).
template <typename Value>
rc::Gen<std::vector<Value>> arbitrary_list(std::int64_t from, std::int64_t end, rc::Gen<Value> value) {
  return rc::gen::mapcat(in_range(from, end),
                         [=](std::int64_t count) { return rc::gen::container<std::vector<Value>>(count, value); });
}

/// Draws up to 8 numbers in [0, bound).
inline rc::Gen<std::vector<NodeIndex>> arbitrary_nodes(std::int64_t bound) {
  if (bound == 0) return rc::gen::just(std::vector<NodeIndex>());
  return arbitrary_list(0, 9, in_range<NodeIndex>(0, static_cast<NodeIndex>(bound)));
}

/// Draws a CSR relation with rows in any order and with duplicates.
inline rc::Gen<Relation> arbitrary_rows(std::int64_t num_sources, std::int64_t num_destinations) {
  if (num_destinations == 0) return rc::gen::just(Relation::from_csr(num_sources, {0}, {}));
  return rc::gen::map(
      rc::gen::container<std::vector<std::vector<NodeIndex>>>(num_destinations, arbitrary_nodes(num_sources)),
      [=](const std::vector<std::vector<NodeIndex>>& rows) {
        std::vector<Edge> ends;
        for (std::size_t d = 0; d < rows.size(); ++d) {
          for (const NodeIndex source : rows[d]) ends.emplace_back(source, d);
        }
        return relation_of(num_sources, num_destinations, ends);
      });
}

inline rc::Gen<Relation> arbitrary_intervals(std::int64_t num_sources, std::int64_t num_destinations) {
  const auto end = in_range<NodeIndex>(0, static_cast<NodeIndex>(num_sources + 1));
  const auto interval = rc::gen::map(rc::gen::pair(end, end), [](const std::pair<NodeIndex, NodeIndex>& ends) {
    return Interval{.begin = std::min(ends.first, ends.second), .end = std::max(ends.first, ends.second)};
  });
  return rc::gen::map(
      rc::gen::container<std::vector<Interval>>(num_destinations, interval),
      [=](std::vector<Interval> rows) { return Relation::from_intervals(num_sources, std::move(rows)); });
}

/// Draws a relation of the given sizes in either form.
inline rc::Gen<Relation> arbitrary_relation(std::int64_t num_sources, std::int64_t num_destinations) {
  return rc::gen::oneOf(arbitrary_rows(num_sources, num_destinations),
                        arbitrary_intervals(num_sources, num_destinations));
}

/// Draws a relation of sizes from 0 to 6 in either form.
inline rc::Gen<Relation> arbitrary_relation() {
  const auto size = in_range<std::int64_t>(0, 7);
  return rc::gen::mapcat(rc::gen::pair(size, size), [](const std::pair<std::int64_t, std::int64_t>& sizes) {
    return arbitrary_relation(sizes.first, sizes.second);
  });
}

/// Draws some of the numbers in [0, count), each at most once, in any order.
inline rc::Gen<std::vector<EdgeIndex>> arbitrary_edges(EdgeIndex count) {
  const auto draw = rc::gen::pair(rc::gen::arbitrary<bool>(), in_range(0, 1'000));
  return rc::gen::map(rc::gen::container<std::vector<std::pair<bool, int>>>(count, draw),
                      [](const std::vector<std::pair<bool, int>>& draws) {
                        std::vector<EdgeIndex> edges;
                        for (std::size_t i = 0; i < draws.size(); ++i) {
                          if (draws[i].first) edges.push_back(static_cast<EdgeIndex>(i));
                        }
                        std::ranges::stable_sort(edges, {}, [&](EdgeIndex edge) { return draws[edge].second; });
                        return edges;
                      });
}

}  // namespace edgewise
