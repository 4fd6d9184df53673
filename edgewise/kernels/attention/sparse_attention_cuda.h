// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "edgewise/kernels/attention/sparse_attention_gpu.h"
#include "edgewise/kernels/attention/sparse_backward_cuda.h"
#include "edgewise/kernels/attention/sparse_forward_cuda.h"
#include "edgewise/kernels/attention/sparse_weights_cuda.h"

// The definitions of the functions of sparse_attention_gpu.h for the device and for the emulator.
namespace edgewise::kernels {
namespace gpu {

/// Launches Kernel<T, kLanes> for the smallest group of lanes whose parts hold a row of a head, with a group for each
/// list and head.
template <template <typename, int> class Kernel, typename T, class... Arguments>
void launch_groups(const SparseArguments<T>& p, const EdgeLists& lists, device::Stream stream, Arguments... arguments) {
  auto launch_with = [&]<int kLanes>() {
    constexpr int kGroupsOfBlock = kThreadsOfSparseBlock / kLanes;
    const int num_groups = lists.num_lists * p.num_computed_heads;
    launch(Kernel<T, kLanes>{p, lists, arguments...}, (num_groups + kGroupsOfBlock - 1) / kGroupsOfBlock, stream);
  };
  constexpr int kLanes = 32 * sizeof(T) / 16;
  const int size = std::max(p.head_size, p.value_size);
  if (size <= 32) return launch_with.template operator()<kLanes>();
  if (size <= 64) return launch_with.template operator()<2 * kLanes>();
  launch_with.template operator()<4 * kLanes>();
}

inline EdgeLists edges_of_rows(const RelationView& relation) {
  return {relation.row_begin, relation.sources, nullptr, static_cast<int>(relation.num_destinations)};
}

}  // namespace gpu

template <typename T>
void sparse_attention_forward(const AttentionForward<T>& p, const RelationView& relation, device::Stream stream) {
  gpu::launch_groups<gpu::SparseForward>(gpu::SparseArguments<T>(p), gpu::edges_of_rows(relation), stream, p.out,
                                         p.log_normalizer);
}

template <typename T>
void sparse_attention_weights(const AttentionWeights<T>& p, const RelationView& relation, device::Stream stream) {
  gpu::launch_groups<gpu::SparseWeights>(gpu::SparseArguments<T>(p.forward), gpu::edges_of_rows(relation), stream,
                                         p.weight);
}

std::int64_t sparse_backward_workspace(const RelationView& relation, std::int64_t num_heads) {
  return relation.num_destinations * num_heads * static_cast<std::int64_t>(sizeof(gpu::RowStatistics));
}

template <typename T>
void sparse_attention_backward(const AttentionBackward<T>& p, const RelationView& relation,
                               const EdgesBySourceView& edges, void* workspace, device::Stream stream) {
  const AttentionForward<T>& f = p.forward;
  const gpu::SparseArguments<T> arguments(f);
  auto* const statistics = static_cast<gpu::RowStatistics*>(workspace);
  gpu::launch_groups<gpu::SparseBackwardRows>(arguments, gpu::edges_of_rows(relation), stream, f.out, p.grad_out,
                                              f.log_normalizer, statistics, p.grad_query, p.grad_edge_bias);
  const gpu::EdgeLists sources = {edges.begin, edges.destination, edges.edge, static_cast<int>(relation.num_sources)};
  gpu::launch_groups<gpu::SparseBackwardSources>(arguments, sources, stream, p.grad_out, statistics, p.grad_key,
                                                 p.grad_value);
}

template void sparse_attention_forward(const AttentionForward<float>&, const RelationView&, device::Stream);
template void sparse_attention_forward(const AttentionForward<BFloat16>&, const RelationView&, device::Stream);
template void sparse_attention_weights(const AttentionWeights<float>&, const RelationView&, device::Stream);
template void sparse_attention_weights(const AttentionWeights<BFloat16>&, const RelationView&, device::Stream);
template void sparse_attention_backward(const AttentionBackward<float>&, const RelationView&, const EdgesBySourceView&,
                                        void*, device::Stream);
template void sparse_attention_backward(const AttentionBackward<BFloat16>&, const RelationView&,
                                        const EdgesBySourceView&, void*, device::Stream);

}  // namespace edgewise::kernels
