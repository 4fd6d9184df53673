// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/attention/interval_attention.h"
#include "edgewise/kernels/attention/interval_edges_cuda.h"
#include "edgewise/kernels/attention/tiled_backward_cuda.h"

namespace edgewise::kernels {

template <typename T>
bool can_attend_intervals(std::int64_t head_size, std::int64_t value_size) {
  return head_size == value_size && gpu::can_start_tiled_kernels<T, gpu::IntervalEdges>(head_size);
}

template bool can_attend_intervals<float>(std::int64_t, std::int64_t);
template bool can_attend_intervals<BFloat16>(std::int64_t, std::int64_t);

std::int64_t interval_backward_workspace(const RelationView& relation, std::int64_t num_heads) {
  constexpr std::int64_t kRecordBytes = sizeof(gpu::RowRecord);
  constexpr std::int64_t kTileBytes = sizeof(gpu::KeyRange);
  const std::int64_t num_tiles = gpu::IntervalEdges(relation, nullptr).num_row_tiles();
  return num_heads * relation.num_destinations * kRecordBytes + num_tiles * kTileBytes;
}

template <typename T>
void interval_attention_backward(const AttentionBackward<T>& p, const RelationView& relation, void* workspace,
                                 device::Stream stream) {
  const int num_heads = static_cast<int>(p.forward.heads().size());
  auto* const records = static_cast<gpu::RowRecord*>(workspace);
  auto* const tile_keys = reinterpret_cast<gpu::KeyRange*>(records + num_heads * relation.num_destinations);
  const gpu::GradientArguments<T> arguments(p, relation.num_destinations, relation.num_sources, records);
  gpu::launch_tiled_backward(arguments, gpu::IntervalEdges(relation, tile_keys), p.forward.head_size, num_heads,
                             stream);
}

template void interval_attention_backward(const AttentionBackward<float>&, const RelationView&, void*, device::Stream);
template void interval_attention_backward(const AttentionBackward<BFloat16>&, const RelationView&, void*,
                                          device::Stream);

}  // namespace edgewise::kernels
