// SPDX-License-Identifier: Apache-2.0
#include "edgewise/models/layer_relations.h"

#include <numeric>

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

}  // namespace edgewise
