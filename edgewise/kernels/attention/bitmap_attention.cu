// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/attention/bitmap_attention.h"
#include "edgewise/kernels/attention/bitmap_edges_cuda.h"
#include "edgewise/kernels/attention/tiled_forward_cuda.h"

namespace edgewise::kernels {

template <typename T>
void bitmap_attention_forward(const AttentionForward<T>& p, const BitmapRelationView& relation, device::Stream stream) {
  const gpu::AttentionArguments<T> arguments(p, relation.num_destinations, relation.num_sources);
  gpu::launch_tiled_forward(arguments, gpu::BitmapEdges{relation.by_destination, relation.by_source}, p.head_size,
                            static_cast<int>(p.heads().size()), stream);
}

template void bitmap_attention_forward(const AttentionForward<float>&, const BitmapRelationView&, device::Stream);
template void bitmap_attention_forward(const AttentionForward<BFloat16>&, const BitmapRelationView&, device::Stream);

}  // namespace edgewise::kernels
