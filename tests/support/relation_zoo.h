// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "edgewise/graph/builders.h"
#include "edgewise/graph/relation.h"

namespace edgewise {

struct NamedRelation {
  std::string name;
  Relation relation;
};

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
  };
}

}  // namespace edgewise
