// SPDX-License-Identifier: Apache-2.0
#include "edgewise/graph/power_law.h"

#include <cmath>

#include "edgewise/base/random.h"

namespace edgewise {

Relation power_law(std::int64_t num_nodes, std::int64_t num_edges) {
  RandomStream random(/*seed=*/1);
  const double scale = std::log(static_cast<double>(num_nodes) + 1);
  EdgeList edges;
  for (std::int64_t edge = 0; edge < num_edges; ++edge) {
    for (auto* ends : {&edges.sources, &edges.destinations}) {
      ends->push_back(static_cast<NodeIndex>(std::exp(random.uniform() * scale) - 1));
    }
  }
  return Relation::from_edges(num_nodes, num_nodes, edges);
}

}  // namespace edgewise
