// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "edgewise/graph/relation.h"
#include "edgewise/options/relation_patterns.h"

namespace edgewise {

/// The relations of the self-attention of a side's layers, for one batch. Layers with equal patterns share a relation,
/// and thus what kernels derive from it. Copies are cheap.
class LayerRelations {
 public:
  /// Gives all layers one relation.
  explicit LayerRelations(Relation relation) : relations_{std::move(relation)} {}

  /// Makes the relations of `patterns` over documents of these lengths, whose nodes follow one another. `relation`, the
  /// batch's own, is that of layers with the default pattern. O(tokens) for a default; otherwise see make_relation().
  /// Throws Error if there is another pattern and the lengths do not sum to the nodes of `relation`.
  LayerRelations(const RelationPatterns& patterns, const Relation& relation, std::span<const std::int64_t> lengths);

  /// Returns the relation of a layer that is counted from 0.
  const Relation& of_layer(std::size_t layer) const { return relations_[layer % relations_.size()]; }

 private:
  std::vector<Relation> relations_;
};

/// Returns the edges of a relation from each node to itself and to the next one: the path of an SSRU (ops/ssru.h).
/// O(nodes) for intervals, otherwise O(edges).
Relation path_of(const Relation& relation);

}  // namespace edgewise
