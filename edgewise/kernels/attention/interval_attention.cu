// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/attention/interval_attention.h"
#include "edgewise/kernels/attention/interval_edges_cuda.h"
#include "edgewise/kernels/attention/tiled_forward_cuda.h"

namespace edgewise::kernels {

template <typename T>
void interval_attention_forward(const AttentionForward<T>& p, const RelationView& relation, device::Stream stream) {
  const gpu::AttentionArguments<T> arguments(p, relation.num_destinations, relation.num_sources);
  gpu::launch_tiled_forward(arguments, gpu::IntervalEdges(relation, nullptr), p.head_size,
                            static_cast<int>(p.heads().size()), stream);
}

template void interval_attention_forward(const AttentionForward<float>&, const RelationView&, device::Stream);
template void interval_attention_forward(const AttentionForward<BFloat16>&, const RelationView&, device::Stream);

}  // namespace edgewise::kernels
