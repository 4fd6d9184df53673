// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "edgewise/graph/relation.h"

// Shapes: D = destination nodes, S = source nodes, E = edges, H = heads, K = head size, V = size of a head's value.

namespace edgewise {

/// Which values a dropout keeps: a function of these numbers alone, so that backward replays it without storing it.
struct DropoutKey {
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;
};

struct AttentionOptions {
  // Multiplies every score. Unset means 1 / sqrt(K).
  std::optional<double> scale = {};

  // [E, H], added to the scaled scores: relative positions, edge types. Undefined means none.
  at::Tensor edge_bias = {};

  // Share of weights set to zero while the others grow by 1 / (1 - dropout). 0 means none.
  double dropout = 0.0;
  DropoutKey dropout_key = {};

  // Bounds the scaled scores to [-clamp, clamp], as the graph tutorial does in place of subtracting the maximum of a
  // row. Only for parity with it: the gradient of a bounded score is zero.
  std::optional<double> clamp = {};
};

/// Passes one message along every edge and averages them at its destination.
///
///     weight[e] = softmax, over the edges into d, of scale * <query[d], key[s]> + edge_bias[e]
///     out[d]    = sum over those edges of weight[e] * value[s]
///
/// Which token may see which is the relation's business: there is no mask argument. A destination without edges gets
/// zeros. An edge of score -inf, which only a bias can give, is as if it were not there.
///
///     auto out_DHV = attend(causal(length), query_DHK, key_SHK, value_SHV);
///
/// Differentiable in query, key, value and edge_bias; fp32, bf16 and fp64 on the CPU. Sums and softmax of bf16 are made
/// in fp32, and edge_bias is fp32 with it. For intervals, forward and backward take O(nodes) memory, not O(edges).
/// Throws Error when a shape, dtype or device does not fit.
at::Tensor attend(const Relation& relation, const at::Tensor& query_DHK, const at::Tensor& key_SHK,
                  const at::Tensor& value_SHV, const AttentionOptions& options = {});

/// The same with a relation for each head, over the same sources and destinations. Head h comes out as it does where
/// all heads have its relation, in dropout too. There is no edge_bias: edges differ from head to head.
at::Tensor attend(std::span<const Relation> relation_H, const at::Tensor& query_DHK, const at::Tensor& key_SHK,
                  const at::Tensor& value_SHV, const AttentionOptions& options = {});

/// The way that `attend` goes for tensors of a type, by the form of the relation, and the instruction set it uses:
/// "tiles, avx512" by products of small dense matrices, "rows, avx512" edge by edge, or "reference".
std::string attention_kernel(const Relation& relation, at::ScalarType type = at::kFloat);

/// The weights that `attend` uses (before dropout), [E, H], in the order of the relation's edges. Differentiable. fp32
/// where query and key are bf16.
at::Tensor attention_weights(const Relation& relation, const at::Tensor& query_DHK, const at::Tensor& key_SHK,
                             const AttentionOptions& options = {});

/// The definitions of the two above in plain ATen, over lists of edges, with gradients that autograd derives. They take
/// O(E * H * K) memory and any dtype.
at::Tensor attend_plain(const Relation& relation, const at::Tensor& query_DHK, const at::Tensor& key_SHK,
                        const at::Tensor& value_SHV, const AttentionOptions& options = {});
at::Tensor attention_weights_plain(const Relation& relation, const at::Tensor& query_DHK, const at::Tensor& key_SHK,
                                   const AttentionOptions& options = {});

}  // namespace edgewise
