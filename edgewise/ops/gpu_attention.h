// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>

#include "edgewise/device/stream.h"
#include "edgewise/graph/relation.h"
#include "edgewise/kernels/attention/attention.h"

// Attention on GPUs: chooses the kernel for a relation and copies the relation to the device in the form that this
// kernel reads.
namespace edgewise {

/// The kernels of attention for GPUs.
enum class GpuAttention {
  kIntervals,  // kernels/attention/interval_attention.h
  kBitmaps,    // kernels/attention/bitmap_attention.h
  kSparse,     // kernels/attention/sparse_attention.h
};

std::string_view gpu_attention_name(GpuAttention kernel);

/// The sizes of heads: of queries and keys, and of values.
struct HeadSizes {
  std::int64_t head_size;
  std::int64_t value_size;
};

/// Returns whether the GPU kernels can compute attention with these sizes. The answer depends on the relation only
/// through its numbers of sources and destinations.
bool can_attend_on_gpu(const Relation& relation, std::int64_t num_heads, const HeadSizes& sizes);

/// Returns the kernel that suits a relation and heads that can_attend_on_gpu() accepts, for T = float or BFloat16.
template <typename T>
GpuAttention choose_gpu_attention(const Relation& relation, at::Device device, const HeadSizes& sizes);

/// Starts attention on `device`, the current device, and does not wait. T is float or BFloat16. The tensors of `p` are
/// on `device`, aligned as by aligned_contiguous(); p.saved_weights is null.
template <typename T>
void gpu_attention_forward(const kernels::AttentionForward<T>& p, const Relation& relation, at::Device device,
                           device::Stream stream);

/// Starts the gradients of gpu_attention_forward().
template <typename T>
void gpu_attention_backward(const kernels::AttentionBackward<T>& p, const Relation& relation, at::Device device,
                            device::Stream stream);

}  // namespace edgewise
