// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/attention/attention.h"
#include "edgewise/kernels/attention/row_plan.h"

// Attention edge by edge, for relations of any form and T = float or BFloat16. What an edge needs is gathered from
// tables that hold one head of keys and values in one piece, and for gradients of queries and gradients of outputs.
namespace edgewise::kernels::cpu {

template <typename T>
void row_attention_forward(const AttentionForward<T>& p, const RowPlan& plan);

/// Overwrites all gradients. Takes 8 bytes an edge, and tables of one head. Sums in a fixed order whatever the number
/// of threads.
template <typename T>
void row_attention_backward(const AttentionBackward<T>& p, const RowPlan& plan);

template <typename T>
void row_attention_weights(const AttentionWeights<T>& p, const RowPlan& plan);

}  // namespace edgewise::kernels::cpu
