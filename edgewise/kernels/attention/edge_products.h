// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/graph/relation_view.h"

// Computations along the edges of a relation, for float and double: dot products of an edge's two nodes, weighted sums
// at its destination or source, and softmax over the edges into a destination.
namespace edgewise::kernels {

/// The sizes of tensors of destinations [D, H, K], sources [S, H, K] and edges [E, H].
struct EdgeShape {
  RelationView relation;
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

/// Computes softmax over the edges into each destination, head by head; `score` and `weight` are [E, H].
template <typename T>
void edge_softmax(const RelationView& relation, std::int64_t num_heads, const T* score, T* weight);

/// Computes grad_score[e] = weight[e] * (grad_weight[e] - sum over the edges into d of weight * grad_weight).
template <typename T>
void edge_softmax_backward(const RelationView& relation, std::int64_t num_heads, const T* weight, const T* grad_weight,
                           T* grad_score);

}  // namespace edgewise::kernels
