// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/attention/attention.h"
#include "edgewise/kernels/message/edge_rows.h"

// Attention edge by edge, for relations of any form and T = float or BFloat16. Copies one head at a time into
// contiguous tables, from which edges gather rows: keys and values; in backward also queries and gradients of outputs.
namespace edgewise::kernels::cpu {

template <typename T>
void row_attention_forward(const AttentionForward<T>& p, const EdgeOrders& edges);

/// Overwrites all gradients, with the same bits for any number of threads. Allocates 8 bytes per edge and the tables.
template <typename T>
void row_attention_backward(const AttentionBackward<T>& p, const EdgeOrders& edges);

template <typename T>
void row_attention_weights(const AttentionWeights<T>& p, const EdgeOrders& edges);

}  // namespace edgewise::kernels::cpu
