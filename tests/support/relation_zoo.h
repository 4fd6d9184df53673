// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "edgewise/graph/builders.h"
#include "edgewise/graph/relation.h"
#include "edgewise/graph/relation_terms.h"

namespace edgewise {

struct NamedRelation {
  std::string name;
  Relation relation;
};

/// Returns a relation as rows: row d has the sources first_sources[d] + gap * i + i / 3 for i from 0 to width - 1.
inline Relation rows_from(std::int64_t num_sources, const std::vector<NodeIndex>& first_sources, NodeIndex width,
                          NodeIndex gap) {
  std::vector<EdgeIndex> row_begin = {0};
  std::vector<NodeIndex> sources;
  for (const NodeIndex first : first_sources) {
    for (NodeIndex i = 0; i < width; ++i) sources.push_back(first + gap * i + i / 3);
    row_begin.push_back(std::ssize(sources));
  }
  return Relation::from_csr(num_sources, row_begin, sources);
}

/// Returns a relation as rows: each node attends to the last `size` nodes, itself included, and to the first `sinks`.
inline Relation window_with_sinks(std::int64_t num_nodes, std::int64_t size, std::int64_t sinks) {
  const std::vector<RelationTerm> terms = {{.kind = TermKind::kWindow, .size = size},
                                           {.kind = TermKind::kSinks, .size = sinks}};
  return make_relation(terms, Direction::kCausal, std::span(&num_nodes, 1)).to_csr();
}

/// Returns small relations of every form and edge case, with a name for test traces.
inline std::vector<NamedRelation> relation_zoo() {
  const std::vector<std::int64_t> lengths = {3, 0, 7, 1, 5};
  return {
      {"no nodes", Relation()},
      {"sources only", bipartite(4, 0)},
      {"destinations only", bipartite(0, 3)},
      {"no edges, as intervals", Relation::from_intervals(3, {{0, 0}, {2, 2}, {3, 3}})},
      {"no edges, as rows", Relation::from_csr(3, {0, 0, 0, 0}, {})},
      {"single edge", bipartite(1, 1)},
      {"single edge among many nodes", Relation::from_edges(6, 5, {.sources = {4}, .destinations = {2}})},
      {"self loops", window(5, {})},
      {"complete", complete(9)},
      {"complete, as rows", complete(7).to_csr()},
      {"causal", causal(10)},
      {"cross", bipartite(9, 10)},
      {"one destination", bipartite(33, 1)},
      {"one source", bipartite(1, 17)},
      {"prefix", prefix(7, lengths)},
      {"window", window(12, {.before = 2, .after = 1})},
      {"causal window", window(11, {.before = 3})},
      {"dilated", window(13, {.before = 2, .after = 2, .dilation = 3})},
      {"strided", strided(14, 4)},
      {"block local", block_local(11, 4)},
      {"causal blocks", block_local(11, 4, Direction::kCausal)},
      {"random sparse", random_relation(23, 19, 4, /*seed=*/1)},
      {"rows with gaps", Relation::from_csr(8, {0, 3, 3, 4, 4, 8}, {0, 2, 7, 5, 1, 3, 4, 6})},
      {"rows in no order", Relation::from_csr(5, {0, 4, 6}, {3, 0, 4, 1, 2, 0})},
      {"duplicate edges", Relation::from_csr(4, {0, 3, 3, 7}, {1, 1, 3, 0, 2, 0, 2})},
      {"intervals with gaps", Relation::from_intervals(10, {{2, 6}, {0, 0}, {9, 10}, {0, 10}, {5, 5}})},
      {"two parts", Relation::from_intervals(7, {{0, 3}, {0, 3}, {0, 3}, {3, 7}, {3, 7}, {3, 7}, {3, 7}})},
      {"long rows", bipartite(300, 3)},
      {"descending intervals", Relation::from_intervals(12, {{9, 12}, {6, 10}, {3, 7}, {0, 4}})},
      {"shuffled intervals",
       Relation::from_intervals(60, {{40, 60}, {0, 5}, {20, 33}, {7, 50}, {58, 60}, {0, 60}, {31, 32}})},
      {"descending rows", Relation::from_csr(9, {0, 2, 5, 7}, {7, 8, 3, 5, 6, 0, 2})},
      {"shuffled rows", rows_from(/*num_sources=*/50, {35, 0, 21, 8, 30, 2}, /*width=*/5, /*gap=*/2)},
  };
}

/// Returns relations of a few rows, descending or shuffled, over thousands of sources. Most sources have no edge.
inline std::vector<NamedRelation> wide_relations() {
  std::vector<Interval> descending;
  for (NodeIndex row = 63; row >= 0; --row) descending.push_back({100 * row, 100 * row + 1});
  return {
      {"two sources far apart, descending", Relation::from_intervals(5000, {{4999, 5000}, {0, 1}})},
      {"sources far apart, descending", Relation::from_intervals(6400, descending)},
      {"intervals far apart, shuffled",
       Relation::from_intervals(9000, {{8000, 8200}, {17, 18}, {4000, 4300}, {8999, 9000}, {0, 3}, {60, 60}})},
      {"rows far apart, shuffled", rows_from(/*num_sources=*/9000, {8900, 12, 4100, 7000, 0, 300}, 7, 11)},
      {"window and first nodes", window_with_sinks(/*num_nodes=*/200, /*size=*/70, /*sinks=*/3)},
      {"dense rows far apart, descending", rows_from(/*num_sources=*/6000, {5900, 4400, 4000, 128, 3}, 60, 1)},
  };
}

/// Returns relation_zoo() and wide_relations().
inline std::vector<NamedRelation> large_relation_zoo() {
  std::vector<NamedRelation> relations = relation_zoo();
  for (NamedRelation& wide : wide_relations()) relations.push_back(std::move(wide));
  return relations;
}

}  // namespace edgewise
