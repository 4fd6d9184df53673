// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "edgewise/graph/relation.h"

namespace edgewise {

/// Softmax over the edges into each destination, head by head: scores and result are [E, H], or [E, …], in the order of
/// the relation's edges. Subtracts the largest score of a row, so scores of any size are safe. Differentiable.
at::Tensor edge_softmax(const Relation& relation, const at::Tensor& score_EH);

/// The scores of additive attention (Bahdanau et al. 2015), the textbook chapter's MLP attention, on edges:
///
///     score[e, h] = <vector[h], tanh(query[d, h] + key[s, h])>
///
/// [E, H], for edge_softmax. Differentiable. O(E · H · K) memory.
at::Tensor additive_scores(const Relation& relation, const at::Tensor& query_DHK, const at::Tensor& key_SHK,
                           const at::Tensor& vector_HK);

/// sum over the edges into d of weight[e] * value[s], [D, H, V]; weights are [E, H]. Differentiable in both. Rows
/// without edges get zeros. O(nodes) memory beside the weights.
at::Tensor aggregate(const Relation& relation, const at::Tensor& weight_EH, const at::Tensor& value_SHV);

}  // namespace edgewise
