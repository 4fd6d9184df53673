// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include "edgewise/kernels/attention/interval_attention_bf16_cuda.h"
#include "edgewise/kernels/attention/interval_attention_f32_cuda.h"
#include "edgewise/kernels/attention/interval_attention_gpu.h"

// The definition of interval_attention_forward(), for the device and for the emulator.
namespace edgewise::kernels {
namespace device {

template <int kHeadSize, typename T>
void launch_interval_attention(const IntervalArguments<T>& arguments, int num_blocks, Stream stream) {
  if constexpr (std::is_same_v<T, float>) {
    launch(IntervalAttentionF32<kHeadSize>{arguments}, num_blocks, stream);
  } else {
    launch(IntervalAttentionBf16<kHeadSize>{arguments}, num_blocks, stream);
  }
}

}  // namespace device

template <typename T>
void interval_attention_forward(const AttentionForward<T>& p, const RelationView& relation, device::Stream stream) {
  const device::IntervalArguments<T> arguments(p, relation);
  const int num_blocks = arguments.blocks_of_head * static_cast<int>(p.heads().size());
  switch (p.head_size) {
    case 32:
      return device::launch_interval_attention<32>(arguments, num_blocks, stream);
    case 64:
      return device::launch_interval_attention<64>(arguments, num_blocks, stream);
    case 96:
      return device::launch_interval_attention<96>(arguments, num_blocks, stream);
    case 128:
      return device::launch_interval_attention<128>(arguments, num_blocks, stream);
    default:
      return;
  }
}

template void interval_attention_forward(const AttentionForward<float>&, const RelationView&, device::Stream);
template void interval_attention_forward(const AttentionForward<BFloat16>&, const RelationView&, device::Stream);

}  // namespace edgewise::kernels
