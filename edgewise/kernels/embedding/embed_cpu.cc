// SPDX-License-Identifier: Apache-2.0

#include "edgewise/base/threads.h"
#include "edgewise/kernels/embedding/embed.h"
#include "edgewise/kernels/simd/instruction_set.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "edgewise/kernels/embedding/embed_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "edgewise/kernels/dropout/dropout-inl.h"
#include "edgewise/kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace {

void embed_rows(const EmbedForward<float>& p, std::int64_t begin, std::int64_t end) {
  const DropoutFactors factors(p.dropout);
  const TokenScales<float> scales(p.scale, p.word_dropout);
  const Floats zero = hn::Zero(FloatTag());
  for (std::int64_t row = begin; row < end; ++row) {
    const bool has_token = p.tokens[row] != kNoToken;
    const Floats scale = hn::Set(FloatTag(), has_token ? scales.scale_of(row) : 0.0f);
    const float* embedding_M = p.weight + (has_token ? p.tokens[row] : 0) * p.size;
    const float* position_M = p.position_table == nullptr ? nullptr : p.position_table + p.positions[row] * p.size;
    const std::int64_t first = row * p.size;
    for_lanes_with_dropout(factors, first, first + p.size, [&](std::int64_t i, auto part, Floats factor) HWY_ATTR {
      const Floats position = position_M == nullptr ? zero : load(part, position_M + (i - first));
      const Floats embedding = hn::Mul(load(part, embedding_M + (i - first)), scale);
      store(part, hn::Mul(hn::Add(embedding, position), factor), p.out + i);
    });
  }
}

/// Adds columns [begin, end) of the gradients of all tokens.
void add_columns(const EmbedBackward<float>& p, std::int64_t begin, std::int64_t end) {
  const DropoutFactors factors(p.dropout);
  const TokenScales<float> scales(p.scale, p.word_dropout);
  for (std::int64_t row = 0; row < p.num_tokens; ++row) {
    if (p.tokens[row] == kNoToken) continue;
    const Floats scale = hn::Set(FloatTag(), scales.scale_of(row));
    float* embedding_M = p.grad_weight + p.tokens[row] * p.size;
    const std::int64_t first = row * p.size;
    for_lanes_with_dropout(factors, first + begin, first + end, [&](std::int64_t i, auto part, Floats factor) HWY_ATTR {
      const Floats grad = hn::Mul(hn::Mul(load(part, p.grad_out + i), factor), scale);
      store(part, hn::Add(load(part, embedding_M + (i - first)), grad), embedding_M + (i - first));
    });
  }
}

}  // namespace
}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgewise::kernels::reference {

template <typename T>
void embed_forward(const EmbedForward<T>& p) {
  const TokenScales<T> scales(p.scale, p.word_dropout);
  for (std::int64_t t = 0; t < p.num_tokens; ++t) {
    const bool has_token = p.tokens[t] != kNoToken;
    const T scale = scales.scale_of(t);
    for (std::int64_t i = 0; i < p.size; ++i) {
      const T embedding = has_token ? p.weight[p.tokens[t] * p.size + i] * scale : T{0};
      p.out[t * p.size + i] =
          p.position_table == nullptr ? embedding : embedding + p.position_table[p.positions[t] * p.size + i];
    }
  }
  reference::dropout(p.dropout, p.num_tokens * p.size, p.out, p.out);
}

template <typename T>
void embed_backward(const EmbedBackward<T>& p) {
  std::vector<T> dropped(static_cast<std::size_t>(p.num_tokens * p.size));
  reference::dropout(p.dropout, p.num_tokens * p.size, p.grad_out, dropped.data());
  const TokenScales<T> scales(p.scale, p.word_dropout);
  for (std::int64_t t = 0; t < p.num_tokens; ++t) {
    if (p.tokens[t] == kNoToken) continue;
    const T scale = scales.scale_of(t);
    for (std::int64_t i = 0; i < p.size; ++i) {
      p.grad_weight[p.tokens[t] * p.size + i] += dropped[static_cast<std::size_t>(t * p.size + i)] * scale;
    }
  }
}

template void embed_forward(const EmbedForward<float>&);
template void embed_forward(const EmbedForward<double>&);
template void embed_backward(const EmbedBackward<float>&);
template void embed_backward(const EmbedBackward<double>&);

}  // namespace edgewise::kernels::reference

namespace edgewise::kernels {

HWY_EXPORT(embed_rows);
HWY_EXPORT(add_columns);

constexpr std::int64_t kGrain = 8192;  // values per range, at least

template <>
void embed_forward(const EmbedForward<float>& p) {
  if (instruction_set() == InstructionSet::kReference) return reference::embed_forward(p);
  parallel_for(p.num_tokens, kGrain / (p.size + 1) + 1, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(embed_rows)(p, begin, end);
  });
}

/// Divides the columns among the threads, so that no two threads write to the same value and the order of sums is
/// fixed.
template <>
void embed_backward(const EmbedBackward<float>& p) {
  if (instruction_set() == InstructionSet::kReference) return reference::embed_backward(p);
  constexpr std::int64_t kColumns = 32;  // two cache lines, because processors load lines in pairs
  const std::int64_t strips = (p.size + kColumns - 1) / kColumns;
  parallel_for(strips, kGrain / (p.num_tokens * kColumns + 1) + 1, [&](std::int64_t begin, std::int64_t end) {
    HWY_DYNAMIC_DISPATCH(add_columns)(p, begin * kColumns, std::min(end * kColumns, p.size));
  });
}

/// There are no vector kernels for double: the reference computes these cases.
template <>
void embed_forward(const EmbedForward<double>& p) {
  reference::embed_forward(p);
}

template <>
void embed_backward(const EmbedBackward<double>& p) {
  reference::embed_backward(p);
}

}  // namespace edgewise::kernels
#endif  // HWY_ONCE
