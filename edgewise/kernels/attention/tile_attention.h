// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <variant>

#include "edgewise/kernels/attention/attention.h"
#include "edgewise/kernels/attention/tile_plan.h"

// Attention as products of small dense matrices, for relations of which rows_ascend() is true. T is float or BFloat16;
// sums are computed in float. The instruction set in force (kernels/simd/instruction_set.h) must not be kReference.
// Workspace memory grows only with the number of threads.
namespace edgewise::kernels {

using AnyAttentionForward = std::variant<const AttentionForward<float>*, const AttentionForward<BFloat16>*>;
using AnyAttentionBackward = std::variant<const AttentionBackward<float>*, const AttentionBackward<BFloat16>*>;

namespace cpu {

// Both functions return whether all their results are finite. If they are not, an infinity or NaN of a node may have
// reached nodes without an edge to it, because the products of matrices multiply it by the weight 0 of an absent edge.
// The caller then computes all results again by other kernels.

template <typename T>
bool tile_attention_forward(const AttentionForward<T>& p, const TilePlan& plan);

/// Overwrites all gradients. Gives the same bits for any number of threads.
template <typename T>
bool tile_attention_backward(const AttentionBackward<T>& p, const TilePlan& plan);

}  // namespace cpu
}  // namespace edgewise::kernels
