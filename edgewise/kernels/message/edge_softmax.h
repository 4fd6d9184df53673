// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/graph/relation_view.h"

// Softmax over the edges into each destination, head by head, for T = float or double. Tensors are [E, H].
namespace edgewise::kernels {

/// Computes weight[e] = exp(score[e]) / (sum over the edges into d of exp(score)). Subtracts each row's maximum, so
/// that exp() does not overflow. A row whose scores are all -inf gets zeros.
template <typename T>
void edge_softmax(const RelationView& relation, std::int64_t num_heads, const T* score, T* weight);

/// Computes grad_score[e] = weight[e] * (grad_weight[e] - sum over the edges into d of weight * grad_weight).
template <typename T>
void edge_softmax_backward(const RelationView& relation, std::int64_t num_heads, const T* weight, const T* grad_weight,
                           T* grad_score);

}  // namespace edgewise::kernels
