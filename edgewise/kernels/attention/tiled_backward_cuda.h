// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "edgewise/kernels/attention/tiled_forward_cuda.h"
#include "edgewise/kernels/attention/tiled_query_gradient_cuda.h"
#include "edgewise/kernels/attention/tiled_source_gradient_cuda.h"

namespace edgewise::kernels::gpu {

/// Begins the backward pass over the tiles of `edges` for `num_heads` heads of size `head_size`.
template <typename T, class Edges>
void launch_tiled_backward(const GradientArguments<T>& p, const Edges& edges, std::int64_t head_size, int num_heads,
                           device::Stream stream) {
  const auto grid_for = [&](int num_nodes, int nodes_of_block) {
    return Grid(num_blocks_for(num_nodes, nodes_of_block), num_heads);
  };
  with_head_size(head_size, [&]<int kHeadSize>() {
    launch(RowRecords<kHeadSize, T, Edges>{p, edges}, grid_for(p.num_destinations, kRowsOfTile), stream);
    launch(TiledQueryGradient<LayoutOf<T>, kHeadSize, Edges>{p, edges}, grid_for(p.num_destinations, kNodesOfBlock),
           stream);
    launch(TiledSourceGradient<LayoutOf<T>, kHeadSize, Edges>{p, edges}, grid_for(p.num_sources, kNodesOfBlock),
           stream);
  });
}

/// Returns whether there are kernels over the tiles of Edges for heads of this size, forward and backward, whose blocks
/// have enough shared memory on the current GPU.
template <typename T, class Edges>
bool can_start_tiled_kernels(std::int64_t head_size) {
  return has_tiled_kernels(head_size) &&
         with_head_size(head_size, [&]<int kHeadSize>() {
           return std::max({sizeof(typename TiledForward<LayoutOf<T>, kHeadSize, Edges>::Shared),
                            sizeof(typename TiledQueryGradient<LayoutOf<T>, kHeadSize, Edges>::Shared),
                            sizeof(typename TiledSourceGradient<LayoutOf<T>, kHeadSize, Edges>::Shared)});
         }) <= device::max_shared_memory();
}

}  // namespace edgewise::kernels::gpu
