// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include "edgewise/kernels/attention/tiled_query_gradient_bf16_cuda.h"
#include "edgewise/kernels/attention/tiled_query_gradient_f32_cuda.h"
#include "edgewise/kernels/attention/tiled_source_gradient_bf16_cuda.h"
#include "edgewise/kernels/attention/tiled_source_gradient_f32_cuda.h"

namespace edgewise::kernels::device {

/// Launches a kernel of the backward pass, whose blocks have `nodes_of_block` nodes of a head.
template <class K>
void launch_for_nodes(K kernel, int num_nodes, int nodes_of_block, int num_heads, Stream stream) {
  kernel.p.blocks_of_head = num_blocks_for(num_nodes, nodes_of_block);
  launch(kernel, kernel.p.blocks_of_head * num_heads, stream);
}

template <int kHeadSize, typename T, class Edges>
void launch_tiled_backward(const GradientArguments<T>& p, const Edges& edges, int num_heads, Stream stream) {
  constexpr bool kIsF32 = std::is_same_v<T, float>;
  using QueryGradient =
      std::conditional_t<kIsF32, TiledQueryGradientF32<kHeadSize, Edges>, TiledQueryGradientBf16<kHeadSize, Edges>>;
  using SourceGradient =
      std::conditional_t<kIsF32, TiledSourceGradientF32<kHeadSize, Edges>, TiledSourceGradientBf16<kHeadSize, Edges>>;
  launch_for_nodes(RowRecords<kHeadSize, T, Edges>{p, edges}, p.num_destinations, kRowsOfTile, num_heads, stream);
  launch_for_nodes(QueryGradient{p, edges}, p.num_destinations, kNodesOfBlock, num_heads, stream);
  launch_for_nodes(SourceGradient{p, edges}, p.num_sources, kNodesOfBlock, num_heads, stream);
}

/// Begins the backward pass over the tiles of `edges` for `num_heads` heads of size `head_size`.
template <typename T, class Edges>
void launch_tiled_backward(const GradientArguments<T>& p, const Edges& edges, std::int64_t head_size, int num_heads,
                           Stream stream) {
  switch (head_size) {
    case 32:
      return launch_tiled_backward<32>(p, edges, num_heads, stream);
    case 64:
      return launch_tiled_backward<64>(p, edges, num_heads, stream);
    case 96:
      return launch_tiled_backward<96>(p, edges, num_heads, stream);
    case 128:
      return launch_tiled_backward<128>(p, edges, num_heads, stream);
    default:
      return;
  }
}

}  // namespace edgewise::kernels::device
