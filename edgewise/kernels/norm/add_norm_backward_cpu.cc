// SPDX-License-Identifier: Apache-2.0
#include <variant>
#include <vector>

#include "edgewise/base/threads.h"
#include "edgewise/kernels/norm/add_norm.h"
#include "edgewise/kernels/simd/instruction_set.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "edgewise/kernels/norm/add_norm_backward_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "edgewise/kernels/dropout/dropout-inl.h"
#include "edgewise/kernels/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace {

// HWY_EXPORT exports no templates, so a variant holds the types.
using AnyAddNormBackward =
    std::variant<AddNormBackward<float, float, float>, AddNormBackward<float, float, BFloat16>,
                 AddNormBackward<float, BFloat16, float>, AddNormBackward<float, BFloat16, BFloat16>,
                 AddNormBackward<BFloat16, BFloat16, float>, AddNormBackward<BFloat16, BFloat16, BFloat16>>;

/// Computes the gradients of one row. As in add_norm_reference.cc, h is the normed row and g the gradient of h.
template <typename X, typename Y, typename N>
class BackwardRow {
 public:
  HWY_INLINE BackwardRow(const AddNormBackward<X, Y, N>& p, std::int64_t row)
      : p_(p),
        begin_(row * p.size),
        mean_(p.mean[row]),
        inverse_(p.formula.inverse_deviation(p.deviation[row])),
        slope_(p.deviation[row] > 0 ? 1.0f / (static_cast<float>(p.formula.divisor) * p.deviation[row]) : 0.0f) {}

  /// Adds the row to the gradients of gain and, unless null, bias. Must be called before write_grad_x().
  HWY_INLINE void add_parameter_gradients(float* grad_gain, float* grad_bias) {
    Floats sum_g = hn::Zero(FloatTag());
    Floats sum_gh = sum_g;
    for_each_vector(p_.size, [&](std::int64_t i, auto part) HWY_ATTR {
      const Floats grad = load(part, p_.grad_normed + begin_ + i);
      const Floats g = hn::Mul(grad, load(part, p_.gain + i));
      const Floats h = values_or_zero(part, normed(i, part));
      sum_g = hn::Add(sum_g, g);
      sum_gh = hn::MulAdd(g, h, sum_gh);
      store(part, hn::MulAdd(grad, h, load(part, grad_gain + i)), grad_gain + i);
      if (grad_bias != nullptr) store(part, hn::Add(grad, load(part, grad_bias + i)), grad_bias + i);
    });
    mean_of_g_ = p_.formula.is_centred ? sum_of_lanes(sum_g) / static_cast<float>(p_.size) : 0.0f;
    h_factor_ = sum_of_lanes(sum_gh) * slope_;
  }

  HWY_INLINE void write_grad_x() const {
    const Floats inverse = hn::Set(FloatTag(), inverse_);
    const Floats mean_of_g = hn::Set(FloatTag(), mean_of_g_);
    const Floats h_factor = hn::Set(FloatTag(), h_factor_);
    for_each_vector(p_.size, [&](std::int64_t i, auto part) HWY_ATTR {
      const Floats g = hn::Mul(load(part, p_.grad_normed + begin_ + i), load(part, p_.gain + i));
      const Floats grad = hn::NegMulAdd(normed(i, part), h_factor, hn::Mul(hn::Sub(g, mean_of_g), inverse));
      store(part, p_.grad_sum == nullptr ? grad : hn::Add(load(part, p_.grad_sum + begin_ + i), grad),
            p_.grad_x + begin_ + i);
    });
  }

 private:
  template <class Part>
  HWY_INLINE Floats normed(std::int64_t i, Part part) const {
    const Floats centred = hn::Sub(load(part, p_.sum + begin_ + i), hn::Set(FloatTag(), mean_));
    return hn::Mul(centred, hn::Set(FloatTag(), inverse_));
  }

  const AddNormBackward<X, Y, N>& p_;
  std::int64_t begin_;
  float mean_;
  float inverse_;
  float slope_;
  float mean_of_g_ = 0;
  float h_factor_ = 0;
};

template <typename X, typename Y, typename N>
HWY_INLINE void add_norm_backward_rows(const AddNormBackward<X, Y, N>& p, std::int64_t begin, std::int64_t end,
                                       float* grad_gain, float* grad_bias) {
  const DropoutFactors factors(p.dropout);
  for (std::int64_t i = begin; i < end; ++i) {
    BackwardRow<X, Y, N> row(p, i);
    row.add_parameter_gradients(grad_gain, grad_bias);
    row.write_grad_x();
    if (p.grad_y != nullptr) apply_dropout(factors, i * p.size, (i + 1) * p.size, p.grad_x, p.grad_y);
  }
}

/// Computes the gradients of rows [begin, end), and adds theirs of gain and bias to grad_gain and grad_bias, [M].
void compute_add_norm_gradients(const AnyAddNormBackward& any, std::int64_t begin, std::int64_t end, float* grad_gain,
                                float* grad_bias) {
  std::visit([=](const auto& p) HWY_ATTR { add_norm_backward_rows(p, begin, end, grad_gain, grad_bias); }, any);
}

}  // namespace
}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgewise::kernels {

HWY_EXPORT(compute_add_norm_gradients);

namespace {

// The rows of a block are summed first, then the sums of the blocks. The number of blocks, and with it the bits of the
// result, depends on the number of rows alone.
constexpr std::int64_t kMaxBlocks = 64;
constexpr std::int64_t kMinBlockRows = 16;

void sum_blocks(const std::vector<float>& summands, std::int64_t size, float* sum) {
  std::fill(sum, sum + size, 0.0f);
  for (std::size_t begin = 0; begin < summands.size(); begin += static_cast<std::size_t>(size)) {
#pragma omp simd
    for (std::int64_t i = 0; i < size; ++i) sum[i] += summands[begin + static_cast<std::size_t>(i)];
  }
}

}  // namespace

template <typename X, typename Y, typename N>
void add_norm_backward(const AddNormBackward<X, Y, N>& p) {
  if (instruction_set() == InstructionSet::kReference) return reference::add_norm_backward(p);
  const std::int64_t block = std::max(kMinBlockRows, (p.num_rows + kMaxBlocks - 1) / kMaxBlocks);
  const std::int64_t num_blocks = (p.num_rows + block - 1) / block;
  std::vector<float> gain_sums(static_cast<std::size_t>(num_blocks * p.size));
  std::vector<float> bias_sums(p.grad_bias == nullptr ? 0 : gain_sums.size());
  parallel_for(num_blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      HWY_DYNAMIC_DISPATCH(compute_add_norm_gradients)
      (p, i * block, std::min((i + 1) * block, p.num_rows), gain_sums.data() + i * p.size,
       p.grad_bias == nullptr ? nullptr : bias_sums.data() + i * p.size);
    }
  });
  sum_blocks(gain_sums, p.size, p.grad_gain);
  if (p.grad_bias != nullptr) sum_blocks(bias_sums, p.size, p.grad_bias);
}

/// There is no vector kernel for double: the reference computes it.
template <>
void add_norm_backward(const AddNormBackward<double, double, double>& p) {
  reference::add_norm_backward(p);
}

template void add_norm_backward(const AddNormBackward<float, float, float>&);
template void add_norm_backward(const AddNormBackward<float, float, BFloat16>&);
template void add_norm_backward(const AddNormBackward<float, BFloat16, float>&);
template void add_norm_backward(const AddNormBackward<float, BFloat16, BFloat16>&);
template void add_norm_backward(const AddNormBackward<BFloat16, BFloat16, float>&);
template void add_norm_backward(const AddNormBackward<BFloat16, BFloat16, BFloat16>&);

}  // namespace edgewise::kernels
#endif  // HWY_ONCE
