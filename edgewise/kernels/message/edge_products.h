// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/kernels/message/edge_rows.h"

// The sums of messages (edge_sum.h) that attention needs, for T = float or double: dot products of an edge's two nodes,
// and weighted sums at its destination or source.
namespace edgewise::kernels {

/// The sizes of tensors of destinations [D, H, K], sources [S, H, K] and edges [E, H].
struct EdgeShape {
  const EdgeOrders& edges;
  std::int64_t num_heads;
  std::int64_t head_size;
};

/// Computes out[e] = <destination[d], source[s]> for each edge e from s to d.
template <typename T>
void edge_dot(const EdgeShape& shape, const T* destination_DHK, const T* source_SHK, T* out_EH);

/// Computes out[d] = sum over the edges into d of weight[e] * source[s].
template <typename T>
void sum_at_destinations(const EdgeShape& shape, const T* weight_EH, const T* source_SHK, T* out_DHK);

/// Computes out[s] = sum over the edges out of s of weight[e] * destination[d], in ascending order of edges.
template <typename T>
void sum_at_sources(const EdgeShape& shape, const T* weight_EH, const T* destination_DHK, T* out_SHK);

}  // namespace edgewise::kernels
