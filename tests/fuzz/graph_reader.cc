// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "edgewise/graph/builders.h"
#include "edgewise/graph/relation_ops.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/numbers.h"
#include "tests/fuzz/readers.h"

namespace edgewise::fuzz {
namespace {

/// Checks that a relation is consistent with its list of edges.
void check_relation(const Relation& relation) {
  const EdgeList edges = relation.edges();
  require(std::ssize(edges.sources) == relation.num_edges());
  EdgeIndex sum = 0;
  for (std::int64_t row = 0; row < relation.num_destinations(); ++row) sum += relation.row_size(row);
  require(sum == relation.num_edges() && relation.row_begin().back() == sum);
  require(std::ranges::is_sorted(edges.destinations));
  const Relation again = Relation::from_edges(relation.num_sources(), relation.num_destinations(), edges);
  require(again == relation && relation.to_csr() == relation && relation.prefer_intervals() == relation);
  const ReversedRelation reversed = reverse(relation);
  require(reversed.relation.num_edges() == sum && std::ssize(reversed.edge) == sum);
  require(reverse(reversed.relation).relation.num_edges() == sum);
  require(unite(relation, relation).num_edges() <= sum);
  const std::vector<Relation> parts = {relation, relation};
  require(join(parts).num_edges() == 2 * sum);
}

Relation make_relation(Numbers& numbers) {
  const std::int64_t kind = numbers.next() % 9;
  const std::int64_t num_sources = numbers.next();
  const std::int64_t num_destinations = numbers.next();
  const std::int64_t option = numbers.next();
  const std::int64_t count = numbers.next();
  switch (kind) {
    case 0:
      return Relation::from_edges(num_sources, num_destinations,
                                  {numbers.list<NodeIndex>(count), numbers.list<NodeIndex>(count)});
    case 1: {
      std::vector<EdgeIndex> row_begin = numbers.list<EdgeIndex>(num_destinations);
      return Relation::from_csr(num_sources, std::move(row_begin), numbers.list<NodeIndex>(count));
    }
    case 2: {
      std::vector<Interval> rows;
      for (std::int64_t i = 0; i < num_destinations; ++i) {
        const auto begin = static_cast<NodeIndex>(numbers.next());
        rows.push_back({begin, static_cast<NodeIndex>(numbers.next())});
      }
      return Relation::from_intervals(num_sources, rows);
    }
    case 3:
      return window(num_sources, {.before = num_destinations, .after = option, .dilation = count});
    case 4:
      return strided(num_sources, option);
    case 5:
      return block_local(num_sources, option, count % 2 == 0 ? Direction::kBoth : Direction::kCausal);
    case 6:
      return random_relation(num_sources, num_destinations, option, static_cast<std::uint64_t>(count));
    case 7:
      return prefix(num_sources, numbers.list<std::int64_t>(count));
    default:
      return from_mask(num_sources, num_destinations, numbers.list<std::uint8_t>(count));
  }
}

}  // namespace

void read_graph(std::string_view bytes) {
  Numbers numbers(bytes);
  accept_errors([&] {
    const Relation relation = make_relation(numbers);
    check_relation(relation);
    accept_errors([&] { check_relation(select_rows(relation, numbers.list<NodeIndex>(numbers.next()))); });
    accept_errors([&] { check_relation(keep_rows(relation, numbers.list<NodeIndex>(numbers.next()))); });
    accept_errors([&] { check_relation(keep_edges(relation, numbers.list<EdgeIndex>(numbers.next()))); });
    accept_errors([&] {
      const auto destinations = numbers.list<NodeIndex>(numbers.next());
      check_relation(select_nodes(relation, destinations, numbers.list<NodeIndex>(numbers.next())));
    });
  });
}

}  // namespace edgewise::fuzz
