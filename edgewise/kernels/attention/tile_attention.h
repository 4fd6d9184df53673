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

/// A NaN or an infinity in a key or value may spread to all rows of the source's run (TileRun).
template <typename T>
void tile_attention_forward(const AttentionForward<T>& p, const TilePlan& plan);

/// Overwrites all gradients. Gives the same bits for any number of threads.
template <typename T>
void tile_attention_backward(const AttentionBackward<T>& p, const TilePlan& plan);

}  // namespace cpu
}  // namespace edgewise::kernels
