// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include "edgewise/kernels/attention/tiled_forward_bf16_cuda.h"
#include "edgewise/kernels/attention/tiled_forward_f32_cuda.h"

namespace edgewise::kernels::device {

template <int kHeadSize, typename T, class Edges>
void launch_tiled_forward(const AttentionArguments<T>& p, const Edges& edges, int num_blocks, Stream stream) {
  if constexpr (std::is_same_v<T, float>) {
    launch(TiledForwardF32<kHeadSize, Edges>{p, edges}, num_blocks, stream);
  } else {
    launch(TiledForwardBf16<kHeadSize, Edges>{p, edges}, num_blocks, stream);
  }
}

/// Begins the forward pass over the tiles of `edges` for `num_heads` heads of size `head_size`.
template <typename T, class Edges>
void launch_tiled_forward(const AttentionArguments<T>& p, const Edges& edges, std::int64_t head_size, int num_heads,
                          Stream stream) {
  const int num_blocks = p.blocks_of_head * num_heads;
  switch (head_size) {
    case 32:
      return launch_tiled_forward<32>(p, edges, num_blocks, stream);
    case 64:
      return launch_tiled_forward<64>(p, edges, num_blocks, stream);
    case 96:
      return launch_tiled_forward<96>(p, edges, num_blocks, stream);
    case 128:
      return launch_tiled_forward<128>(p, edges, num_blocks, stream);
    default:
      return;
  }
}

}  // namespace edgewise::kernels::device
