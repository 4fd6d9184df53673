// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/dropout_mask.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/bitwise_left_shift.h>
#include <ATen/ops/bitwise_right_shift.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/stack.h>

#include <array>
#include <utility>

namespace edgewise {
namespace {

constexpr std::int64_t kWordMask = 0xFFFFFFFF;

struct WideProduct {
  at::Tensor high;
  at::Tensor low;
};

// Returns the 64 bits of word * factor as two words. Words are int64 tensors of numbers below 2^32, because ATen has no
// arithmetic of unsigned words; the factor is cut in two, so that no product exceeds int64.
WideProduct multiply(const at::Tensor& word, std::int64_t factor) {
  const at::Tensor low_product = word * (factor & 0xFFFF);
  // The product without its lowest 16 bits.
  const at::Tensor upper = word * (factor >> 16) + at::bitwise_right_shift(low_product, 16);
  return {at::bitwise_right_shift(upper, 16), at::bitwise_left_shift(upper & 0xFFFF, 16) | (low_product & 0xFFFF)};
}

std::int64_t low_word(std::uint64_t value) { return static_cast<std::int64_t>(value & kWordMask); }
std::int64_t high_word(std::uint64_t value) { return static_cast<std::int64_t>(value >> 32); }

// philox() (base/random.h) of each counter [N]: the words [N, 4].
at::Tensor philox_words(const kernels::Dropout& rule, const at::Tensor& counter_N) {
  std::array<at::Tensor, 4> block = {counter_N & kWordMask, at::bitwise_right_shift(counter_N, 32),
                                     at::full_like(counter_N, low_word(rule.stream)),
                                     at::full_like(counter_N, high_word(rule.stream))};
  std::int64_t first_key = low_word(rule.seed);
  std::int64_t second_key = high_word(rule.seed);
  for (int round = 0; round < 10; ++round) {
    WideProduct first = multiply(block[0], 0xD2511F53);
    WideProduct second = multiply(block[2], 0xCD9E8D57);
    block = {second.high ^ block[1] ^ first_key, std::move(second.low), first.high ^ block[3] ^ second_key,
             std::move(first.low)};
    first_key = (first_key + 0x9E3779B9) & kWordMask;
    second_key = (second_key + 0xBB67AE85) & kWordMask;
  }
  return at::stack(block, 1);
}

at::Tensor kept_words(const kernels::Dropout& rule, std::int64_t num_blocks, at::Device device) {
  const at::Tensor counter_N = at::arange(num_blocks, at::TensorOptions(at::kLong).device(device));
  return philox_words(rule, counter_N) >= static_cast<std::int64_t>(kernels::DropoutRule<float>(rule).threshold());
}

constexpr std::int64_t num_quads(std::int64_t count) { return (count + 3) / 4; }

}  // namespace

at::Tensor kept_elements(const kernels::Dropout& rule, std::int64_t count, at::Device device) {
  return kept_words(rule, num_quads(count), device).view(-1).narrow(0, 0, count);
}

at::Tensor kept_edges(const kernels::Dropout& rule, std::int64_t num_edges, std::int64_t num_heads, at::Device device) {
  const std::int64_t quads = num_quads(num_edges);
  const at::Tensor is_kept_QH4 = kept_words(rule, quads * num_heads, device).view({quads, num_heads, 4});
  return is_kept_QH4.transpose(1, 2).reshape({quads * 4, num_heads}).narrow(0, 0, num_edges);
}

at::Tensor keep_elements(const at::Tensor& x, const at::Tensor& is_kept, const kernels::Dropout& rule) {
  const bool is_double = x.scalar_type() == at::kDouble;
  const double scale = is_double ? kernels::DropoutRule<double>(rule).scale()
                                 : static_cast<double>(kernels::DropoutRule<float>(rule).scale());
  return (x * scale).masked_fill(is_kept.view(x.sizes()).bitwise_not(), 0);
}

}  // namespace edgewise
