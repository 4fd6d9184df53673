// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/gpu_attention.h"

#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>

#include <algorithm>
#include <limits>

#include "edgewise/base/error.h"
#include "edgewise/kernels/attention/bitmap_attention.h"
#include "edgewise/kernels/attention/interval_attention.h"
#include "edgewise/kernels/attention/sparse_attention.h"
#include "edgewise/kernels/gpu/limits.h"
#include "edgewise/ops/backend.h"
#include "edgewise/ops/device_relation.h"

namespace edgewise {
namespace {

template <typename T>
HeadSizes sizes_of(const kernels::AttentionForward<T>& p) {
  return {p.head_size, p.value_size};
}

kernels::BitmapRelationView tiles_by_destination(const Relation& relation, at::Device device) {
  return {.num_sources = relation.num_sources(),
          .num_destinations = relation.num_destinations(),
          .by_destination = derive_on<DeviceTilesByDestination>(relation, device).tiles().view(),
          .by_source = {}};
}

at::Tensor allocate_workspace(std::int64_t bytes, at::Device device) {
  return at::empty({bytes}, at::TensorOptions(device).dtype(at::kByte));
}

}  // namespace

std::string_view gpu_attention_name(GpuAttention kernel) {
  switch (kernel) {
    case GpuAttention::kIntervals:
      return "intervals";
    case GpuAttention::kBitmaps:
      return "bitmaps";
    case GpuAttention::kSparse:
      return "sparse";
  }
  fail("gpu_attention_name: kernel is {}, needs one of GpuAttention", static_cast<int>(kernel));
}

bool can_attend_on_gpu(const Relation& relation, std::int64_t num_heads, const HeadSizes& sizes) {
  const std::int64_t num_nodes = std::max(relation.num_sources(), relation.num_destinations());
  const bool has_room =
      num_nodes * num_heads <= std::numeric_limits<std::int32_t>::max() && num_heads <= kernels::gpu::kMaxGridRows;
  return has_room && kernels::can_attend_edges(sizes.head_size, sizes.value_size);
}

template <typename T>
GpuAttention choose_gpu_attention(const Relation& relation, at::Device device, const HeadSizes& sizes) {
  const c10::DeviceGuard guard(device);
  const bool is_size_of_intervals = kernels::can_attend_intervals<T>(sizes.head_size, sizes.value_size);
  if (is_size_of_intervals && derive_on<DeviceIntervals>(relation, device).view()) return GpuAttention::kIntervals;
  const bool is_size_of_tiles = kernels::can_attend_bitmaps<T>(sizes.head_size, sizes.value_size);
  if (is_size_of_tiles && derive_on<DeviceTilesByDestination>(relation, device).are_dense<T>()) {
    return GpuAttention::kBitmaps;
  }
  return GpuAttention::kSparse;
}

template <typename T>
void gpu_attention_forward(const kernels::AttentionForward<T>& p, const Relation& relation, at::Device device,
                           device::Stream stream) {
  switch (choose_gpu_attention<T>(relation, device, sizes_of(p))) {
    case GpuAttention::kIntervals:
      return kernels::interval_attention_forward(p, *derive_on<DeviceIntervals>(relation, device).view(), stream);
    case GpuAttention::kBitmaps:
      return kernels::bitmap_attention_forward(p, tiles_by_destination(relation, device), stream);
    case GpuAttention::kSparse:
      return kernels::sparse_attention_forward(p, derive_on<DeviceRows>(relation, device).view(), stream);
  }
}

template <typename T>
void gpu_attention_backward(const kernels::AttentionBackward<T>& p, const Relation& relation, at::Device device,
                            device::Stream stream) {
  const std::int64_t num_heads = p.forward.num_heads;
  switch (choose_gpu_attention<T>(relation, device, sizes_of(p.forward))) {
    case GpuAttention::kIntervals: {
      const RelationView& rows = *derive_on<DeviceIntervals>(relation, device).view();
      const at::Tensor workspace = allocate_workspace(kernels::interval_backward_workspace(rows, num_heads), device);
      return kernels::interval_attention_backward(p, rows, workspace.mutable_data_ptr(), stream);
    }
    case GpuAttention::kBitmaps: {
      kernels::BitmapRelationView tiles = tiles_by_destination(relation, device);
      tiles.by_source = derive_on<DeviceTilesBySource>(relation, device).view();
      const at::Tensor workspace =
          allocate_workspace(kernels::bitmap_backward_workspace(relation.num_destinations(), num_heads), device);
      return kernels::bitmap_attention_backward(p, tiles, workspace.mutable_data_ptr(), stream);
    }
    case GpuAttention::kSparse: {
      const RelationView& rows = derive_on<DeviceRows>(relation, device).view();
      const at::Tensor workspace = allocate_workspace(kernels::sparse_backward_workspace(rows, num_heads), device);
      return kernels::sparse_attention_backward(p, rows, derive_on<DeviceEdgesBySource>(relation, device).view(),
                                                workspace.mutable_data_ptr(), stream);
    }
  }
}

template GpuAttention choose_gpu_attention<float>(const Relation&, at::Device, const HeadSizes&);
template GpuAttention choose_gpu_attention<BFloat16>(const Relation&, at::Device, const HeadSizes&);
template void gpu_attention_forward(const kernels::AttentionForward<float>&, const Relation&, at::Device,
                                    device::Stream);
template void gpu_attention_forward(const kernels::AttentionForward<BFloat16>&, const Relation&, at::Device,
                                    device::Stream);
template void gpu_attention_backward(const kernels::AttentionBackward<float>&, const Relation&, at::Device,
                                     device::Stream);
template void gpu_attention_backward(const kernels::AttentionBackward<BFloat16>&, const Relation&, at::Device,
                                     device::Stream);

}  // namespace edgewise
