// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/device/stream.h"
#include "edgewise/graph/relation_view.h"
#include "edgewise/kernels/attention/attention.h"

// Attention on GPUs over relations in the CSR form, edge by edge: for rows with few, scattered sources.
namespace edgewise::kernels {

/// Returns whether sparse_attention_forward() and sparse_attention_backward() have kernels for heads of these sizes.
constexpr bool can_attend_edges(std::int64_t head_size, std::int64_t value_size) {
  auto has_kernel = [](std::int64_t size) { return size > 0 && size <= 128 && size % 8 == 0; };
  return has_kernel(head_size) && has_kernel(value_size);
}

/// The members of EdgesBySource (edge_rows.h), in memory of the device.
struct EdgesBySourceView {
  const EdgeIndex* begin;        // [S + 1]
  const EdgeIndex* edge;         // [E]
  const NodeIndex* destination;  // [E]
};

/// Computes what reference::attention_forward() computes, for T = float or BFloat16, and begins in `stream`. All
/// pointers of `p` and of `relation`, which has the CSR form, are to memory of the device, and query, key, value and
/// out to multiples of 16 bytes. p.saved_weights is null, p.head_size and p.value_size satisfy can_attend_edges(), and
/// nodes times heads are below 2^31. Sums are computed in float. Each result has the same bits in every run, and the
/// results of a row depend on no other row. The edges of a row and head are computed one after the other by a part of a
/// warp, so that a row with very many edges takes longer than all others.
template <typename T>
void sparse_attention_forward(const AttentionForward<T>& p, const RelationView& relation, device::Stream stream);

/// Computes what reference::attention_weights() computes, under the conditions of sparse_attention_forward().
template <typename T>
void sparse_attention_weights(const AttentionWeights<T>& p, const RelationView& relation, device::Stream stream);

/// Returns the bytes of memory that sparse_attention_backward() needs beside its arguments.
std::int64_t sparse_backward_workspace(const RelationView& relation, std::int64_t num_heads);

/// Computes what reference::attention_backward() computes, under the conditions of sparse_attention_forward(), from the
/// results `out` and `log_normalizer` of that function. All tensors but edge_bias, grad_edge_bias and log_normalizer
/// are at multiples of 16 bytes. `edges` are those of group_by_source(). `workspace` is memory of the device of
/// sparse_backward_workspace() bytes at a multiple of 8 bytes, which no other stream uses meanwhile.
template <typename T>
void sparse_attention_backward(const AttentionBackward<T>& p, const RelationView& relation,
                               const EdgesBySourceView& edges, void* workspace, device::Stream stream);

}  // namespace edgewise::kernels
