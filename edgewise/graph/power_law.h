// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/graph/relation.h"

namespace edgewise {

/// Draws both ends of each edge: node n with a probability in proportion to 1 / (n + 1), nearly. A few nodes have most
/// of the edges, as in social networks. Each call with these numbers gives the same relation.
Relation power_law(std::int64_t num_nodes, std::int64_t num_edges);

}  // namespace edgewise
