// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "edgewise/graph/relation.h"

// Common attention patterns as relations. A destination attends to the sources of its edges. Sizes are numbers of nodes
// and may be zero; all functions throw Error for sizes and options out of range.
namespace edgewise {

/// Connects every node to every node, itself included: the self-attention of an encoder.
Relation complete(std::int64_t num_nodes);

/// Node i attends to nodes 0 … i: the self-attention of a decoder.
Relation causal(std::int64_t num_nodes);

/// Connects every source to every destination: cross-attention.
Relation bipartite(std::int64_t num_sources, std::int64_t num_destinations);

/// Destination d attends to the first `lengths[d]` sources ("valid lengths" in Dive into Deep Learning).
Relation prefix(std::int64_t num_sources, std::span<const std::int64_t> lengths);

struct WindowOptions {
  std::int64_t before = 0;    // number of steps back
  std::int64_t after = 0;     // number of steps ahead; 0 for a causal window
  std::int64_t dilation = 1;  // nodes per step
};
/// Node i attends to nodes i + step · dilation for the steps -before … after, where these nodes exist.
Relation window(std::int64_t num_nodes, const WindowOptions& options);

/// The strided pattern of the Sparse Transformer (Child et al. 2019): node i attends to each node j <= i for which
/// i - j is a multiple of `stride`.
Relation strided(std::int64_t num_nodes, std::int64_t stride);

enum class Direction { kBoth, kCausal };

/// Node i attends to the nodes of its block of `block_size` nodes; with kCausal, only to its nodes j <= i.
Relation block_local(std::int64_t num_nodes, std::int64_t block_size, Direction direction = Direction::kBoth);

/// Each destination attends to `in_degree` different random sources, ascending, or to all sources if there are fewer.
Relation random_relation(std::int64_t num_sources, std::int64_t num_destinations, std::int64_t in_degree,
                         std::uint64_t seed);

/// Destination d attends to source s where `mask[d * num_sources + s]` is not zero. Detects intervals.
Relation from_mask(std::int64_t num_sources, std::int64_t num_destinations, std::span<const std::uint8_t> mask);

}  // namespace edgewise
