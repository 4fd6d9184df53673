// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include "edgewise/graph/relation.h"

namespace edgewise {

/// Returns the softmax of the scores over the edges into each destination, for each head. Scores and result are [E, H],
/// or [E, …], in the order of the relation's edges. Subtracts each row's maximum, so exp() never overflows.
/// Differentiable any number of times.
at::Tensor edge_softmax(const Relation& relation, const at::Tensor& score_EH);

/// Returns the scores of additive attention (Bahdanau et al. 2015), also called MLP attention, for each edge from s to
/// d:
///
///     score[e, h] = <vector[h], tanh(query[d, h] + key[s, h])>
///
/// The result is [E, H], an argument of edge_softmax. Query and key are fp32, fp64 or bf16; vector and result are fp64
/// if these are fp64, else fp32. Differentiable. Takes O(E · H · K) memory.
at::Tensor additive_scores(const Relation& relation, const at::Tensor& query_DHK, const at::Tensor& key_SHK,
                           const at::Tensor& vector_HK);

/// Returns out[d] = sum over the edges into d of weight[e] * value[s], [D, H, V], for weights [E, H], in the type of
/// the values: fp32, fp64 or bf16. Weights are fp64 if the values are, else fp32, and so are the sums. Differentiable
/// any number of times. Destinations without edges get zeros. Takes O(nodes) memory besides the weights.
at::Tensor aggregate(const Relation& relation, const at::Tensor& weight_EH, const at::Tensor& value_SHV);

/// Define edge_softmax() and aggregate() in plain ATen, over lists of edges; autograd derives their gradients.
/// additive_scores() is such a definition itself.
at::Tensor edge_softmax_plain(const Relation& relation, const at::Tensor& score_EH);
at::Tensor aggregate_plain(const Relation& relation, const at::Tensor& weight_EH, const at::Tensor& value_SHV);

}  // namespace edgewise
