// SPDX-License-Identifier: Apache-2.0
#include "edgewise/models/layer_relations.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "edgewise/base/error.h"

namespace edgewise {

LayerRelations::LayerRelations(const RelationPatterns& patterns, const Relation& relation,
                               std::span<const std::int64_t> lengths) {
  const std::int64_t num_nodes = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const RelationTerms& terms = patterns.of_layer(i);
    std::size_t same = 0;
    while (patterns.of_layer(same) != terms) ++same;
    if (same < i) {
      relations_.push_back(relations_[same]);
    } else {
      const bool is_default = patterns.is_default(i);
      check(is_default || num_nodes == relation.num_destinations(),
            "LayerRelations: the lengths sum to {}, needs {}, the nodes of the batch's relation", num_nodes,
            relation.num_destinations());
      relations_.push_back(is_default ? relation : make_relation(terms, patterns.direction(), lengths));
    }
  }
}

Relation path_of(const Relation& relation) {
  const RelationView view = relation.view();
  const auto has_source = [&view](std::int64_t node, std::int64_t source) {
    if (view.intervals != nullptr) return view.intervals[node].begin <= source && source < view.intervals[node].end;
    const std::span sources(view.sources + view.row_begin[node], view.sources + view.row_begin[node + 1]);
    return std::ranges::find(sources, static_cast<NodeIndex>(source)) != sources.end();
  };
  return Relation::from_rows(view.num_sources, view.num_destinations,
                             [&](std::int64_t node, std::vector<NodeIndex>& sources) {
                               for (const std::int64_t source : {node - 1, node}) {
                                 if (has_source(node, source)) sources.push_back(static_cast<NodeIndex>(source));
                               }
                             });
}

}  // namespace edgewise
