// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/dropout/dropout_factors_cuda.h"
#include "edgewise/kernels/embedding/embed.h"
#include "edgewise/kernels/gpu/chunks.h"

namespace edgewise::kernels {
namespace gpu {

EDGEWISE_DEVICE Floats4 scaled(const Floats4& values, float scale) {
  return multiply(values, {scale, scale, scale, scale});
}

template <bool kIsWide>
struct EmbedForwardKernel {
  static constexpr const char* kName = "embed_forward";
  static constexpr int kChunks = 4;
  using Strips = RowStrips<kChunks>;
  static constexpr int kThreads = Strips::kThreads;
  struct Shared {};

  EmbedForward<float> p;
  DeviceDropoutFactors factors;
  DeviceDropoutFactors word_factors;

  EDGEWISE_DEVICE void operator()() const {
    const Strips strip(p.size);
    const std::int64_t token = strip.row;
    if (token >= p.num_tokens) return;
    Floats4 values[kChunks];
    Floats4 positions[kChunks];
    const bool has_token = p.tokens[token] != kNoToken;
    strip.template load<kIsWide>(p.weight + (has_token ? p.tokens[token] : 0) * p.size, p.size, values);
    if (p.position_table != nullptr) {
      strip.template load<kIsWide>(p.position_table + p.positions[token] * p.size, p.size, positions);
    }
    const float scale = has_token ? p.scale * word_factors.one(token) : 0.0f;
    EDGEWISE_UNROLL
    for (int c = 0; c < kChunks; ++c) {
      const std::int64_t column = strip.column(c);
      if (column >= p.size) return;
      Floats4 sum = scaled(values[c], scale);
      if (p.position_table != nullptr) sum = add(sum, positions[c]);
      const std::int64_t at = token * p.size + column;
      store_chunk<kIsWide>(multiply(sum, factors.chunk(at)), p.out + at, p.size - column);
    }
  }
};

/// A warp sums a strip of the gradient of a group of equal tokens.
template <bool kIsWide>
struct EmbedBackwardKernel {
  static constexpr const char* kName = "embed_backward";
  using Strips = RowStrips<1>;
  static constexpr int kThreads = Strips::kThreads;
  struct Shared {};

  EmbedBackward<float> p;
  TokenGroupsView groups;
  DeviceDropoutFactors factors;
  DeviceDropoutFactors word_factors;

  EDGEWISE_DEVICE void operator()() const {
    const Strips strip(p.size);
    if (strip.row >= groups.num_groups || groups.rows[strip.row] == kNoToken) return;
    const std::int64_t column = strip.column(0);
    float* const grad = p.grad_weight + groups.rows[strip.row] * p.size + column;
    const Floats4 sum = add_in_order<4>(
        load_chunk<kIsWide>(grad, p.size - column), groups.begin[strip.row], groups.begin[strip.row + 1],
        [&](std::int64_t i) { return std::int64_t{groups.tokens[i]}; },
        [&](std::int64_t token) { return load_chunk<kIsWide>(p.grad_out + token * p.size + column, p.size - column); },
        [&](std::int64_t token, const Floats4& values) {
          const Floats4 dropped = multiply(values, factors.chunk(token * p.size + column));
          return scaled(dropped, p.scale * word_factors.one(token));
        });
    store_chunk<kIsWide>(sum, grad, p.size - column);
  }
};

}  // namespace gpu

template <typename T>
void embed_forward(const EmbedForward<T>& p, device::Stream stream) {
  gpu::with_width(p.size, [&](auto is_wide) {
    using Kernel = gpu::EmbedForwardKernel<is_wide>;
    launch(Kernel{p, gpu::DeviceDropoutFactors(p.dropout), gpu::DeviceDropoutFactors(p.word_dropout)},
           Kernel::Strips::num_blocks(p.num_tokens, p.size), stream);
  });
}

template <typename T>
void embed_backward(const EmbedBackward<T>& p, const TokenGroupsView& groups, device::Stream stream) {
  gpu::with_width(p.size, [&](auto is_wide) {
    using Kernel = gpu::EmbedBackwardKernel<is_wide>;
    launch(Kernel{p, groups, gpu::DeviceDropoutFactors(p.dropout), gpu::DeviceDropoutFactors(p.word_dropout)},
           Kernel::Strips::num_blocks(groups.num_groups, p.size), stream);
  });
}

template void embed_forward(const EmbedForward<float>&, device::Stream);
template void embed_backward(const EmbedBackward<float>&, const TokenGroupsView&, device::Stream);

}  // namespace edgewise::kernels
