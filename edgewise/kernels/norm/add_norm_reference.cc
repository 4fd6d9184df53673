// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <vector>

#include "edgewise/base/threads.h"
#include "edgewise/kernels/norm/add_norm.h"

namespace edgewise::kernels::reference {
namespace {

constexpr std::int64_t kGrain = 4096;  // the smallest number of values per thread

template <typename X, typename A = AccumulatorType<X>>
struct Statistics {
  A mean;
  A deviation;
};

template <typename X>
Statistics<X> compute_statistics(const X* row_M, std::int64_t size, const NormFormula& formula) {
  using A = AccumulatorType<X>;
  A total = 0;
  for (std::int64_t i = 0; i < size; ++i) total += row_M[i];
  const A mean = formula.is_centred ? total / static_cast<A>(size) : A{0};
  A squares = 0;
  for (std::int64_t i = 0; i < size; ++i) squares += (row_M[i] - mean) * (row_M[i] - mean);
  return {mean, std::sqrt(squares / static_cast<A>(formula.divisor) + static_cast<A>(formula.epsilon_inside))};
}

/// Writes the gradient of a row of x: the gradient through the norm, plus grad_sum if it is not null.
///
/// With h = (row - mean) / (deviation + epsilon_outside) and g = the gradient of h, the gradient through the norm is
///     (g - mean of g) / (deviation + epsilon_outside) - h <g, h> / (divisor * deviation),
/// with 0 for the mean of g if the norm is not centred.
template <typename X, typename Y, typename N>
void write_grad_x(const AddNormBackward<X, Y, N>& p, std::int64_t row) {
  using A = AccumulatorType<X>;
  const std::int64_t begin = row * p.size;
  const A deviation = p.deviation[row];
  const A inverse = p.formula.inverse_deviation(deviation);
  const auto grad_at = [&](std::int64_t i) { return p.grad_normed[begin + i] * p.gain[i]; };
  const auto normed_at = [&](std::int64_t i) { return (p.sum[begin + i] - p.mean[row]) * inverse; };

  A sum_g = 0;
  A sum_gh = 0;
  for (std::int64_t i = 0; i < p.size; ++i) {
    sum_g += grad_at(i);
    sum_gh += grad_at(i) * normed_at(i);
  }
  const A mean_g = p.formula.is_centred ? sum_g / static_cast<A>(p.size) : A{0};
  const A h_factor = deviation > 0 ? sum_gh / (static_cast<A>(p.formula.divisor) * deviation) : A{0};
  for (std::int64_t i = 0; i < p.size; ++i) {
    const A grad = (grad_at(i) - mean_g) * inverse - normed_at(i) * h_factor;
    p.grad_x[begin + i] = static_cast<X>(p.grad_sum == nullptr ? grad : p.grad_sum[begin + i] + grad);
  }
}

template <typename X, typename Y, typename N>
void write_parameter_gradients(const AddNormBackward<X, Y, N>& p, std::int64_t column) {
  using A = AccumulatorType<X>;
  A gain = 0;
  A bias = 0;
  for (std::int64_t row = 0; row < p.num_rows; ++row) {
    const A inverse = p.formula.template inverse_deviation<A>(p.deviation[row]);
    const A grad = p.grad_normed[row * p.size + column];
    gain += grad * (p.sum[row * p.size + column] - p.mean[row]) * inverse;
    bias += grad;
  }
  p.grad_gain[column] = gain;
  if (p.grad_bias != nullptr) p.grad_bias[column] = bias;
}

/// Calls fn(i) for each i in [0, count). A call computes `values_per_call` values.
template <class Fn>
void parallel_for_each(std::int64_t count, std::int64_t values_per_call, Fn fn) {
  parallel_for(count, kGrain / (values_per_call + 1) + 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) fn(i);
  });
}

}  // namespace

template <typename X, typename Y>
void add_dropout(const AddDropout<X, Y>& p) {
  using A = AccumulatorType<X>;
  std::vector<A> dropped(static_cast<std::size_t>(p.count));
  reference::dropout(p.dropout, p.count, p.y, dropped.data());
  for (std::int64_t i = 0; i < p.count; ++i) p.sum[i] = static_cast<X>(p.x[i] + dropped[static_cast<std::size_t>(i)]);
}

template <typename X, typename Y, typename N>
void add_norm_forward(const AddNormForward<X, Y, N>& p) {
  using A = AccumulatorType<X>;
  if (p.y != nullptr) reference::add_dropout(AddDropout<X, Y>{p.x, p.y, p.sum, p.num_rows * p.size, p.dropout});
  parallel_for_each(p.num_rows, p.size, [&](std::int64_t row) {
    const X* sum_M = (p.y == nullptr ? p.x : p.sum) + row * p.size;
    const Statistics<X> statistics = compute_statistics(sum_M, p.size, p.formula);
    const A inverse = p.formula.inverse_deviation(statistics.deviation);
    for (std::int64_t i = 0; i < p.size; ++i) {
      const A bias = p.bias == nullptr ? A{0} : p.bias[i];
      p.normed[row * p.size + i] = static_cast<N>((sum_M[i] - statistics.mean) * inverse * p.gain[i] + bias);
    }
    p.mean[row] = statistics.mean;
    p.deviation[row] = statistics.deviation;
  });
}

template <typename X, typename Y, typename N>
void add_norm_backward(const AddNormBackward<X, Y, N>& p) {
  parallel_for_each(p.num_rows, p.size, [&](std::int64_t row) { write_grad_x(p, row); });
  parallel_for_each(p.size, p.num_rows, [&](std::int64_t column) { write_parameter_gradients(p, column); });
  if (p.grad_y != nullptr) reference::dropout(p.dropout, p.num_rows * p.size, p.grad_x, p.grad_y);
}

template void add_dropout(const AddDropout<double, double>&);
template void add_dropout(const AddDropout<float, float>&);
template void add_dropout(const AddDropout<float, BFloat16>&);
template void add_dropout(const AddDropout<BFloat16, BFloat16>&);
template void add_norm_forward(const AddNormForward<double, double, double>&);
template void add_norm_forward(const AddNormForward<float, float, float>&);
template void add_norm_forward(const AddNormForward<float, float, BFloat16>&);
template void add_norm_forward(const AddNormForward<float, BFloat16, float>&);
template void add_norm_forward(const AddNormForward<float, BFloat16, BFloat16>&);
template void add_norm_forward(const AddNormForward<BFloat16, BFloat16, float>&);
template void add_norm_forward(const AddNormForward<BFloat16, BFloat16, BFloat16>&);
template void add_norm_backward(const AddNormBackward<double, double, double>&);
template void add_norm_backward(const AddNormBackward<float, float, float>&);
template void add_norm_backward(const AddNormBackward<float, float, BFloat16>&);
template void add_norm_backward(const AddNormBackward<float, BFloat16, float>&);
template void add_norm_backward(const AddNormBackward<float, BFloat16, BFloat16>&);
template void add_norm_backward(const AddNormBackward<BFloat16, BFloat16, float>&);
template void add_norm_backward(const AddNormBackward<BFloat16, BFloat16, BFloat16>&);

}  // namespace edgewise::kernels::reference
