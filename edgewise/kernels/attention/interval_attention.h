// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/device/stream.h"
#include "edgewise/graph/relation_view.h"
#include "edgewise/kernels/attention/attention.h"

// Attention on GPUs over relations in the interval form.
namespace edgewise::kernels {

/// Returns whether the functions below have kernels for heads of these sizes, for T = float or BFloat16: 32, 64, 96 and
/// 128, unless a block of the thread's current GPU has too little shared memory. fp32 with 128 needs 110 KiB.
template <typename T>
bool can_attend_intervals(std::int64_t head_size, std::int64_t value_size);

/// Computes what reference::attention_forward() computes, for T = float or BFloat16, and begins in `stream`. All
/// pointers of `p` and of `relation`, which has intervals, are to memory of the device, query, key, value and out to
/// multiples of 16 bytes, and intervals to a multiple of 8. p.saved_weights is null, and p.head_size and p.value_size
/// satisfy can_attend_intervals(). Weights of bf16 are rounded to bf16 before they multiply values. Each result has the
/// same bits in every run. A block of 64 rows multiplies the keys of its rows in tiles, from the first key of each
/// group of rows whose keys overlap, so that rows with similar intervals should be neighbours. So the rows of a
/// sentence that all begin with its first key, and that no other sentence shares, have the same bits whatever rows
/// precede or follow them. A value that is not finite may also change the rows of such a group that do not attend to
/// it.
template <typename T>
void interval_attention_forward(const AttentionForward<T>& p, const RelationView& relation, device::Stream stream);

/// Returns the bytes of memory that interval_attention_backward() needs for `num_heads` heads beside its arguments.
std::int64_t interval_backward_workspace(const RelationView& relation, std::int64_t num_heads);

/// Computes what reference::attention_backward() computes, from `out` and log_normalizer of
/// interval_attention_forward(), under the same conditions. All tensors but edge_bias, grad_edge_bias and
/// log_normalizer are aligned to 16 bytes. `workspace` is memory of the device of at least
/// interval_backward_workspace() bytes, aligned to 16, which no other stream uses meanwhile. The gradients of scores of
/// bf16 are rounded to bf16 before they multiply queries and keys. A block multiplies its 64 sources with all tiles of
/// 32 rows between whose first and last interval one of these sources lies.
template <typename T>
void interval_attention_backward(const AttentionBackward<T>& p, const RelationView& relation, void* workspace,
                                 device::Stream stream);

}  // namespace edgewise::kernels
