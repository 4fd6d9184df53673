// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include "edgewise/kernels/attention/interval_attention_gpu.h"
#include "edgewise/kernels/attention/interval_query_gradient_bf16_cuda.h"
#include "edgewise/kernels/attention/interval_query_gradient_f32_cuda.h"
#include "edgewise/kernels/attention/interval_source_gradient_bf16_cuda.h"
#include "edgewise/kernels/attention/interval_source_gradient_f32_cuda.h"

// The definition of interval_attention_backward(), for the device and for the emulator.
namespace edgewise::kernels {
namespace device {

/// Launches a kernel of the backward pass, whose blocks have `nodes_of_block` nodes of a head.
template <class K>
void launch_for_nodes(K kernel, int num_nodes, int nodes_of_block, int num_heads, Stream stream) {
  kernel.p.blocks_of_head = num_blocks_for(num_nodes, nodes_of_block);
  launch(kernel, kernel.p.blocks_of_head * num_heads, stream);
}

template <int kHeadSize, typename T>
void launch_interval_gradients(const IntervalGradients<T>& p, int num_heads, Stream stream) {
  constexpr bool kIsF32 = std::is_same_v<T, float>;
  using QueryGradient =
      std::conditional_t<kIsF32, IntervalQueryGradientF32<kHeadSize>, IntervalQueryGradientBf16<kHeadSize>>;
  using SourceGradient =
      std::conditional_t<kIsF32, IntervalSourceGradientF32<kHeadSize>, IntervalSourceGradientBf16<kHeadSize>>;
  launch_for_nodes(IntervalRecords<kHeadSize, T>{p}, p.num_destinations, p.kRowsOfTile, num_heads, stream);
  launch_for_nodes(QueryGradient{p}, p.num_destinations, p.kNodesOfBlock, num_heads, stream);
  launch_for_nodes(SourceGradient{p}, p.num_sources, p.kNodesOfBlock, num_heads, stream);
}

}  // namespace device

std::int64_t interval_backward_workspace(const RelationView& relation, std::int64_t num_heads) {
  constexpr std::int64_t kRecordBytes = sizeof(device::RowRecord);
  constexpr std::int64_t kTileBytes = sizeof(device::KeyRange);
  const int num_rows = static_cast<int>(relation.num_destinations);
  const int num_tiles = device::num_blocks_for(num_rows, device::IntervalGradients<float>::kRowsOfTile);
  return num_heads * num_rows * kRecordBytes + num_tiles * kTileBytes;
}

template <typename T>
void interval_attention_backward(const AttentionBackward<T>& p, const RelationView& relation, void* workspace,
                                 device::Stream stream) {
  const device::IntervalGradients<T> arguments(p, relation, workspace);
  const int num_heads = static_cast<int>(p.forward.heads().size());
  switch (p.forward.head_size) {
    case 32:
      return device::launch_interval_gradients<32>(arguments, num_heads, stream);
    case 64:
      return device::launch_interval_gradients<64>(arguments, num_heads, stream);
    case 96:
      return device::launch_interval_gradients<96>(arguments, num_heads, stream);
    case 128:
      return device::launch_interval_gradients<128>(arguments, num_heads, stream);
    default:
      return;
  }
}

template void interval_attention_backward(const AttentionBackward<float>&, const RelationView&, void*, device::Stream);
template void interval_attention_backward(const AttentionBackward<BFloat16>&, const RelationView&, void*,
                                          device::Stream);

}  // namespace edgewise::kernels
