// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "edgewise/graph/graph.h"
#include "edgewise/viz/graph_picture.h"

namespace edgewise {

/// A relation's rows as a picture has them: ranges of sources.
std::vector<SeenSources> rows_of(const Relation& relation);

/// A graph's sets, of which there are one or two, part by part, and its relations; nodes are called by their numbers.
GraphDrawing drawing_of(const Graph& graph, std::string title);

}  // namespace edgewise
