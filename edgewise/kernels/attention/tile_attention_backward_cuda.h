// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/attention/bitmap_edges_cuda.h"
#include "edgewise/kernels/attention/tile_attention_gpu.h"
#include "edgewise/kernels/attention/tiled_backward_cuda.h"

// The definition of tile_attention_backward(), for the device and for the emulator.
namespace edgewise::kernels {

template <typename T>
bool can_attend_tiles(std::int64_t head_size, std::int64_t value_size) {
  return head_size == value_size && gpu::can_start_tiled_kernels<T, gpu::BitmapEdges>(head_size);
}

template bool can_attend_tiles<float>(std::int64_t, std::int64_t);
template bool can_attend_tiles<BFloat16>(std::int64_t, std::int64_t);

template <typename T>
void tile_attention_backward(const AttentionBackward<T>& p, const BitmapRelationView& relation, void* workspace,
                             device::Stream stream) {
  static_assert(tile_backward_workspace(1, 1) == sizeof(gpu::RowRecord));
  const gpu::GradientArguments<T> arguments(p, relation.num_destinations, relation.num_sources,
                                            static_cast<gpu::RowRecord*>(workspace));
  gpu::launch_tiled_backward(arguments, gpu::BitmapEdges{relation.by_destination, relation.by_source},
                             p.forward.head_size, static_cast<int>(p.forward.heads().size()), stream);
}

template void tile_attention_backward(const AttentionBackward<float>&, const BitmapRelationView&, void*,
                                      device::Stream);
template void tile_attention_backward(const AttentionBackward<BFloat16>&, const BitmapRelationView&, void*,
                                      device::Stream);

}  // namespace edgewise::kernels
