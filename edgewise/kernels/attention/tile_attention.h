// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/attention/attention.h"
#include "edgewise/kernels/attention/tile_plan.h"

// Attention over relations of intervals as products of small dense matrices: rows of queries against the sources that
// they see between them. T is float or BFloat16; sums are made in float. Which instruction set runs is that of
// kernels/simd/instruction_set.h, which must not be the reference. Memory beyond the arguments grows with threads alone.
namespace edgewise::kernels::cpu {

/// `plan` is TilePlan(p.relation). A NaN or an infinity in a key or value may reach rows of its run that do not see
/// it.
template <typename T>
void tile_attention_forward(const AttentionForward<T>& p, const TilePlan& plan);

/// Overwrites all gradients. The same bits for any number of threads.
template <typename T>
void tile_attention_backward(const AttentionBackward<T>& p, const TilePlan& plan);

}  // namespace edgewise::kernels::cpu
