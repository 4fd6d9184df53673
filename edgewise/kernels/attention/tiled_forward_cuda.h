// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include "edgewise/kernels/attention/head_sizes_cuda.h"
#include "edgewise/kernels/attention/tiled_forward_bf16_cuda.h"
#include "edgewise/kernels/attention/tiled_forward_f32_cuda.h"

namespace edgewise::kernels::gpu {

template <int kHeadSize, typename T, class Edges>
using TiledForward =
    std::conditional_t<std::is_same_v<T, float>, TiledForwardF32<kHeadSize, Edges>, TiledForwardBf16<kHeadSize, Edges>>;

/// Begins the forward pass over the tiles of `edges` for `num_heads` heads of size `head_size`.
template <typename T, class Edges>
void launch_tiled_forward(const AttentionArguments<T>& p, const Edges& edges, std::int64_t head_size, int num_heads,
                          device::Stream stream) {
  with_head_size(head_size, [&]<int kHeadSize>() {
    launch(TiledForward<kHeadSize, T, Edges>{p, edges},
           Grid(num_blocks_for(p.num_destinations, kNodesOfBlock), num_heads), stream);
  });
}

}  // namespace edgewise::kernels::gpu
