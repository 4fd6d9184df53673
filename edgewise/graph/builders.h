// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "edgewise/graph/relation.h"

// The attention patterns of the field, each as a relation. Sizes are numbers of nodes; all may be zero.
namespace edgewise {

/// Everyone sees everyone, itself included: an encoder.
Relation complete(std::int64_t num_nodes);

/// Node i sees 0 … i: a decoder.
Relation causal(std::int64_t num_nodes);

/// Every destination sees every source: cross attention.
Relation bipartite(std::int64_t num_sources, std::int64_t num_destinations);

/// Destination d sees the first `lengths[d]` sources: the "valid lengths" of the textbook chapter, per row.
Relation prefix(std::int64_t num_sources, std::span<const std::int64_t> lengths);

struct WindowOptions {
  std::int64_t before = 0;    // how many steps back a node sees
  std::int64_t after = 0;     // how many steps ahead; 0 is a causal window
  std::int64_t dilation = 1;  // the length of a step
};
Relation window(std::int64_t num_nodes, const WindowOptions& options);

/// Sparse Transformer (Child et al. 2019), causal: node i sees itself, and every earlier node j with (i - j) % stride
/// == 0.
Relation strided(std::int64_t num_nodes, std::int64_t stride);

enum class Direction { kBoth, kCausal };

/// Nodes see those of their own block of `block_size` nodes; in the causal form not the later ones.
Relation block_local(std::int64_t num_nodes, std::int64_t block_size, Direction direction = Direction::kBoth);

/// Each destination sees `in_degree` different sources drawn at random (all, if there are fewer), ascending.
Relation random_relation(std::int64_t num_sources, std::int64_t num_destinations, std::int64_t in_degree,
                         std::uint64_t seed);

/// `mask[d * num_sources + s]` non-zero means that d sees s. Detects intervals.
Relation from_mask(std::int64_t num_sources, std::int64_t num_destinations, std::span<const std::uint8_t> mask);

}  // namespace edgewise
