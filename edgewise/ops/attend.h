// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <span>
#include <string>

#include "edgewise/graph/relation.h"
#include "edgewise/ops/dropout.h"
#include "edgewise/ops/score.h"

// Attention along the edges of a relation: the scaled dot-product attention of "Attention Is All You Need" (Vaswani et
// al. 2017, section 3.2) for any pattern of edges, with gradients. Fused kernels compute it in O(E · H · (K + V)) time,
// and give the same bits on any number of threads; what fits no kernel, the definition in plain ATen computes. Each
// function throws Error, whose text begins with its name, for arguments that do not fit.
//
// Keys and values may have fewer heads than queries, G: head h reads their head h / (H / G), which is not copied
// (Ainslie et al. 2023). GPUs have no kernel for fewer heads and compute the definition.
//
// Shapes: D = destination nodes, S = source nodes, E = edges, H = heads, K = head size, V = size of a head's value. A
// tensor with H in its name may have G heads if it is one of keys or values.
namespace edgewise {

struct AttentionOptions {
  // Multiplies every score. Unset means 1 / sqrt(K).
  std::optional<double> scale = {};

  // [E, H], added to the scaled scores, for example for relative positions or edge types. Edges have the order of the
  // relation: row by row, also if the relation is made from a list of edges in another order, for which
  // Relation::from_edges_with_order() returns this order. Undefined means none.
  at::Tensor edge_bias = {};

  // Share of weights that are set to zero, in [0, 1); the other weights are multiplied by 1 / (1 - dropout).
  double dropout = 0.0;
  DropoutKey dropout_key = {};

  // Clamps the scaled scores to [-clamp, clamp]. The gradient of a clamped score is zero. The graph tutorial clamps
  // instead of subtracting a row's maximum; attend() subtracts it anyway, so only a comparison with the tutorial needs
  // a clamp.
  std::optional<double> clamp = {};

  // [E, H, K] and [E, H, V], added to the key and to the value of each edge's source, in the type of the query:
  // features of edges, or relative positions. Undefined means none.
  at::Tensor edge_key = {};
  at::Tensor edge_value = {};

  // Replaces the scaled dot product by a function of the user (score.h); edge_bias and clamp must then be unset. For a
  // function that does not read Score::product(), query and key may be undefined. On GPUs, the definition computes
  // attention with a score function, an edge_key or an edge_value.
  std::optional<Score> score = {};
};

/// Passes one message along every edge and averages them at its destination.
///
///     weight[e] = softmax, over the edges into d, of scale * <query[d], key[s] + edge_key[e]> + edge_bias[e]
///     out[d]    = sum over the edges into d of weight[e] * (value[s] + edge_value[e])
///
/// The relation determines which token attends to which: there is no mask argument. A destination without edges gets
/// zeros. An edge of score -inf, which a bias can cause, has the effect of an absent edge if the value of its source is
/// finite. On CPUs, an infinity or NaN reaches only the outputs and gradients that it reaches in attend_plain(), along
/// edges; where there is one, attend() computes again, edge by edge.
///
///     auto out_DHV = attend(causal(length), query_DHK, key_SHK, value_SHV);
///
/// Differentiable in query, key, value, the tensors of the options and the columns of a score function; fp32, bf16 and
/// fp64. With bf16, sums, softmax and score functions are computed in fp32 and edge_bias must be fp32. For intervals,
/// forward and backward take O(nodes) memory, not O(edges).
/// Throws Error when a shape, dtype or device does not fit.
at::Tensor attend(const Relation& relation, const at::Tensor& query_DHK, const at::Tensor& key_SHK,
                  const at::Tensor& value_SHV, const AttentionOptions& options = {});

/// Attends with one relation per head; all relations have the same numbers of sources and destinations. The output of
/// head h has the same bits as that of attend(relation_H[h], …), with dropout too. The tensors of edges in the options
/// must be undefined, because the heads have different edges, and keys and values have as many heads as queries.
at::Tensor attend(std::span<const Relation> relation_H, const at::Tensor& query_DHK, const at::Tensor& key_SHK,
                  const at::Tensor& value_SHV, const AttentionOptions& options = {});

/// Returns the implementation that `attend` uses for a relation and tensors like these. On the CPU, with the
/// instruction set: "tiles, avx512" for products of small dense matrices, "rows, avx512" for computation edge by edge,
/// or "reference". On a GPU: "intervals, cuda" or "bitmaps, cuda" for products of small dense matrices, or
/// "sparse, cuda" for computation edge by edge. "definition" where no kernel fits.
std::string attention_kernel(const Relation& relation, const at::Tensor& query_DHK, const at::Tensor& value_SHV);

/// Returns the weights that `attend` uses (before dropout), [E, H], in the order of the relation's edges.
/// Differentiable. The weights are fp32 if query and key are bf16.
at::Tensor attention_weights(const Relation& relation, const at::Tensor& query_DHK, const at::Tensor& key_SHK,
                             const AttentionOptions& options = {});

/// Define both attend() and attention_weights() in plain ATen, over lists of edges; autograd derives their gradients.
/// They take O(E * H * K) memory and accept any floating-point dtype on any device.
at::Tensor attend_plain(const Relation& relation, const at::Tensor& query_DHK, const at::Tensor& key_SHK,
                        const at::Tensor& value_SHV, const AttentionOptions& options = {});
at::Tensor attend_heads_plain(std::span<const Relation> relation_H, const at::Tensor& query_DHK,
                              const at::Tensor& key_SHK, const at::Tensor& value_SHV,
                              const AttentionOptions& options = {});
at::Tensor attention_weights_plain(const Relation& relation, const at::Tensor& query_DHK, const at::Tensor& key_SHK,
                                   const AttentionOptions& options = {});

}  // namespace edgewise
