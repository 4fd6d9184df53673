// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/attention/bitmap_attention.h"
#include "edgewise/kernels/attention/bitmap_edges_cuda.h"
#include "edgewise/kernels/attention/tiled_backward_cuda.h"

namespace edgewise::kernels {

template <typename T>
bool can_attend_bitmaps(std::int64_t head_size, std::int64_t value_size) {
  return head_size == value_size && gpu::can_start_tiled_kernels<T, gpu::BitmapEdges>(head_size);
}

template bool can_attend_bitmaps<float>(std::int64_t, std::int64_t);
template bool can_attend_bitmaps<BFloat16>(std::int64_t, std::int64_t);

template <typename T>
void bitmap_attention_backward(const AttentionBackward<T>& p, const BitmapRelationView& relation, void* workspace,
                               device::Stream stream) {
  static_assert(bitmap_backward_workspace(1, 1) == sizeof(gpu::RowRecord));
  const gpu::GradientArguments<T> arguments(p, relation.num_destinations, relation.num_sources,
                                            static_cast<gpu::RowRecord*>(workspace));
  gpu::launch_tiled_backward(arguments, gpu::BitmapEdges{relation.by_destination, relation.by_source},
                             p.forward.head_size, static_cast<int>(p.forward.heads().size()), stream);
}

template void bitmap_attention_backward(const AttentionBackward<float>&, const BitmapRelationView&, void*,
                                        device::Stream);
template void bitmap_attention_backward(const AttentionBackward<BFloat16>&, const BitmapRelationView&, void*,
                                        device::Stream);

}  // namespace edgewise::kernels
