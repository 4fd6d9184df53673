// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/dropout.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/bitwise_left_shift.h>
#include <ATen/ops/bitwise_right_shift.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/stack.h>

#include <array>
#include <utility>

#include "edgewise/base/profile.h"
#include "edgewise/kernels/dropout/dropout.h"
#include "edgewise/ops/backend.h"
#include "edgewise/ops/checks.h"
#include "edgewise/ops/dropout_kernel.h"
#include "edgewise/ops/operation.h"

namespace edgewise {
namespace {

class ApplyDropout : public Operation {
 public:
  explicit ApplyDropout(const kernels::Dropout& rule) : rule_(rule) {}

  Tensors forward(const Tensors& inputs, Tensors& /*saved*/) override {
    const ScopedTimer timer("dropout");
    const at::Tensor& x = inputs[0];
    return {apply_dropout(aligned_contiguous(x), rule_, x.scalar_type())};
  }

  // The derivative is the same dropout, and so is every higher derivative.
  Tensors backward(const BackwardPass& pass) override {
    const ScopedTimer timer("dropout");
    return {apply_one<ApplyDropout>({pass.grad_outputs[0]}, rule_)};
  }

 private:
  kernels::Dropout rule_;
};

constexpr std::int64_t kWordMask = 0xFFFFFFFF;

struct WideProduct {
  at::Tensor high;
  at::Tensor low;
};

/// Returns the 64 bits of word * factor as two words. Words are int64 tensors of numbers below 2^32, because ATen has
/// no arithmetic of unsigned words; the factor is cut in two, so that no product exceeds int64.
WideProduct multiply(const at::Tensor& word, std::int64_t factor) {
  const at::Tensor low_product = word * (factor & 0xFFFF);
  // The product without its lowest 16 bits.
  const at::Tensor upper = word * (factor >> 16) + at::bitwise_right_shift(low_product, 16);
  return {at::bitwise_right_shift(upper, 16), at::bitwise_left_shift(upper & 0xFFFF, 16) | (low_product & 0xFFFF)};
}

std::int64_t low_word(std::uint64_t value) { return static_cast<std::int64_t>(value & kWordMask); }
std::int64_t high_word(std::uint64_t value) { return static_cast<std::int64_t>(value >> 32); }

/// philox() (base/random.h) of each counter [N]: the words [N, 4].
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

at::Tensor apply_dropout(const at::Tensor& x, const kernels::Dropout& rule, at::ScalarType type) {
  at::Tensor out = at::empty(x.sizes(), x.options().dtype(type));
  const auto run = [&](auto from, auto to) {
    call_kernel<decltype(from)>(x, [&](auto... stream) {
      kernels::dropout(rule, x.numel(), data_or_null<decltype(from)>(x), data_or_null<decltype(to)>(out), stream...);
    });
  };
  if (x.scalar_type() == at::kDouble) {
    run(double{}, double{});
  } else {
    with_float_or_bf16(x.scalar_type(), [&](auto from) { with_float_or_bf16(type, [&](auto to) { run(from, to); }); });
  }
  return out;
}

at::Tensor dropout(const at::Tensor& x, double rate, DropoutKey key) {
  check_floating_point("dropout", "x", x);
  check_dropout_rate("dropout", "rate", rate);
  if (rate == 0) return x;
  if (backend_of(x) == Backend::kDefinition) return dropout_plain(x, rate, key);
  return apply_one<ApplyDropout>({x}, dropout_rule(rate, key));
}

at::Tensor dropout_plain(const at::Tensor& x, double rate, DropoutKey key) {
  const kernels::Dropout rule = dropout_rule(rate, key);
  return keep_elements(x, kept_elements(rule, x.numel(), x.device()), rule);
}

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
