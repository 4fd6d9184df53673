// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/add_norm.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <memory>
#include <type_traits>

#include "edgewise/base/error.h"
#include "edgewise/base/profile.h"
#include "edgewise/kernels/norm/add_norm.h"
#include "edgewise/ops/backend.h"
#include "edgewise/ops/checks.h"
#include "edgewise/ops/dropout_kernel.h"
#include "edgewise/ops/element_types.h"
#include "edgewise/ops/norm.h"
#include "edgewise/ops/norm_arguments.h"
#include "edgewise/ops/operation.h"
#include "edgewise/options/layer_options.h"

// Shapes: T = rows, in any number of dimensions, M = features.
namespace edgewise {
namespace {

/// The settings of a norm, with dropout and the residual sum.
struct NormSettings {
  kernels::NormFormula formula;
  kernels::Dropout dropout;
  at::ScalarType type;    // type of `normed`
  at::ScalarType y_type;  // the type of x if y is undefined
};

struct NormResults {
  at::Tensor sum_TM;  // x itself if y is undefined
  at::Tensor normed_TM;
  at::Tensor mean_T;
  at::Tensor deviation_T;
};

struct NormGradients {
  at::Tensor x_TM;
  at::Tensor y_TM;  // same tensor as x_TM, unless there is dropout or y has another type than x
  at::Tensor gain_M;
  at::Tensor bias_M;
};

// Calls fn(X{}, Y{}, N{}) with the types of x, y and normed.
template <class Fn>
void with_types(const NormSettings& settings, const at::Tensor& x_TM, Fn fn) {
  if (x_TM.scalar_type() == at::kDouble) return fn(double{}, double{}, double{});
  with_float_or_bf16(x_TM.scalar_type(), [&](auto x) {
    with_float_or_bf16(settings.y_type, [&](auto y) {
      constexpr bool kFits = std::is_same_v<decltype(x), float> || std::is_same_v<decltype(y), BFloat16>;
      if constexpr (kFits) with_float_or_bf16(settings.type, [&](auto normed) { fn(x, y, normed); });
    });
  });
}

/// Collects the settings; y may be undefined.
NormSettings norm_settings(const at::Tensor& x_TM, const at::Tensor& y_TM, const AddNormOptions& options) {
  return {.formula = norm_formula<kernels::NormFormula>(options.kind, x_TM.size(-1), options.epsilon),
          .dropout = dropout_rule(options.dropout, options.dropout_key),
          .type = options.type.value_or(x_TM.scalar_type()),
          .y_type = (y_TM.defined() ? y_TM : x_TM).scalar_type()};
}

NormResults norm_forward(const NormSettings& settings, const at::Tensor& x_TM, const at::Tensor& y_TM,
                         const at::Tensor& gain_M, const at::Tensor& bias_M) {
  NormResults results = {.sum_TM = y_TM.defined() ? at::empty_like(x_TM) : x_TM,
                         .normed_TM = at::empty_like(x_TM, settings.type),
                         .mean_T = at::empty({num_rows(x_TM)}, gain_M.options()),
                         .deviation_T = at::empty({num_rows(x_TM)}, gain_M.options())};
  with_types(settings, x_TM, [&](auto x, auto y, auto normed) {
    using X = decltype(x);
    using A = kernels::AccumulatorType<X>;
    const kernels::AddNormForward<X, decltype(y), decltype(normed)> arguments = {
        .x = data_or_null<X>(x_TM),
        .y = data_or_null<decltype(y)>(y_TM),
        .gain = data_or_null<A>(gain_M),
        .bias = data_or_null<A>(bias_M),
        .sum = data_or_null<X>(results.sum_TM),
        .normed = data_or_null<decltype(normed)>(results.normed_TM),
        .mean = data_or_null<A>(results.mean_T),
        .deviation = data_or_null<A>(results.deviation_T),
        .num_rows = num_rows(x_TM),
        .size = x_TM.size(-1),
        .formula = settings.formula,
        .dropout = settings.dropout,
    };
    call_kernel<X>(x_TM, [&](auto... stream) { kernels::add_norm_forward(arguments, stream...); });
  });
  return results;
}

/// Computes the gradients. An undefined grad_sum means zeros.
NormGradients norm_backward(const NormSettings& settings, const NormResults& results, const at::Tensor& gain_M,
                            const at::Tensor& grad_sum_TM, const at::Tensor& grad_normed_TM) {
  const at::Tensor& sum_TM = results.sum_TM;
  const bool y_differs = settings.dropout.rate > 0.0 || settings.y_type != sum_TM.scalar_type();
  NormGradients grads = {.x_TM = at::empty_like(sum_TM),
                         .y_TM = y_differs ? at::empty_like(sum_TM, settings.y_type) : at::Tensor(),
                         .gain_M = at::empty_like(gain_M),
                         .bias_M = at::empty_like(gain_M)};
  with_types(settings, sum_TM, [&](auto x, auto y, auto normed) {
    using X = decltype(x);
    using A = kernels::AccumulatorType<X>;
    const kernels::AddNormBackward<X, decltype(y), decltype(normed)> arguments = {
        .sum = data_or_null<X>(sum_TM),
        .gain = data_or_null<A>(gain_M),
        .mean = data_or_null<A>(results.mean_T),
        .deviation = data_or_null<A>(results.deviation_T),
        .grad_sum = data_or_null<X>(grad_sum_TM),
        .grad_normed = data_or_null<decltype(normed)>(grad_normed_TM),
        .grad_x = data_or_null<X>(grads.x_TM),
        .grad_y = data_or_null<decltype(y)>(grads.y_TM),
        .grad_gain = data_or_null<A>(grads.gain_M),
        .grad_bias = data_or_null<A>(grads.bias_M),
        .num_rows = num_rows(sum_TM),
        .size = sum_TM.size(-1),
        .formula = settings.formula,
        .dropout = settings.dropout,
    };
    call_kernel<X>(
        sum_TM, [&] { kernels::add_norm_backward(arguments); },
        [&](auto stream) {
          const std::int64_t size = kernels::add_norm_backward_workspace(arguments.num_rows, arguments.size);
          const at::Tensor workspace = at::empty({size}, gain_M.options());
          kernels::add_norm_backward(arguments, workspace.data_ptr<float>(), stream);
        });
  });
  if (!y_differs) grads.y_TM = grads.x_TM;
  return grads;
}

// Inputs: x_TM, gain_M, bias_M.
class Normalise : public Operation {
 public:
  explicit Normalise(const NormSettings& settings) : settings_(settings) {}

  Tensors forward(const Tensors& inputs, Tensors& saved) override {
    const ScopedTimer timer("norms");
    const at::Tensor gain_M = aligned_contiguous(inputs[1]);
    const NormResults results =
        norm_forward(settings_, aligned_contiguous(inputs[0]), {}, gain_M, aligned_contiguous(inputs[2]));
    saved = {results.sum_TM, results.mean_T, results.deviation_T, gain_M};
    return {results.normed_TM};
  }

  Tensors backward(const BackwardPass& pass) override {
    const ScopedTimer timer("norms");
    check_differentiated_once("normalise");
    const NormResults results = {pass.saved[0], {}, pass.saved[1], pass.saved[2]};
    const NormGradients grads =
        norm_backward(settings_, results, pass.saved[3], {}, aligned_contiguous(pass.grad_outputs[0]));
    return {grads.x_TM, grads.gain_M, grads.bias_M};
  }

 private:
  NormSettings settings_;
};

// Returns the gradient of y, from the gradient of the sum x + dropout(y).
at::Tensor summand_gradient(const at::Tensor& grad_sum_TM, const kernels::Dropout& dropout, at::ScalarType y_type) {
  const bool is_unchanged = dropout.rate == 0.0 && grad_sum_TM.scalar_type() == y_type;
  return is_unchanged ? grad_sum_TM : apply_dropout(grad_sum_TM, dropout, y_type);
}

// Inputs: x_TM, y_TM, gain_M, bias_M. Outputs: sum_TM, normed_TM.
class AddAndNorm : public Operation {
 public:
  explicit AddAndNorm(const NormSettings& settings) : settings_(settings) {}

  Tensors forward(const Tensors& inputs, Tensors& saved) override {
    const ScopedTimer timer("norms");
    const at::Tensor gain_M = aligned_contiguous(inputs[2]);
    const NormResults results = norm_forward(settings_, aligned_contiguous(inputs[0]), aligned_contiguous(inputs[1]),
                                             gain_M, aligned_contiguous(inputs[3]));
    saved = {results.sum_TM, results.mean_T, results.deviation_T, gain_M};
    return {results.sum_TM, results.normed_TM};
  }

  Tensors backward(const BackwardPass& pass) override {
    const ScopedTimer timer("norms");
    check_differentiated_once("add_norm");
    const at::Tensor& sum_gradient_TM = pass.grad_outputs[0];
    const at::Tensor& normed_gradient_TM = pass.grad_outputs[1];
    const at::Tensor grad_sum_TM = aligned_contiguous(sum_gradient_TM);
    if (!normed_gradient_TM.defined()) {
      if (!grad_sum_TM.defined()) return {};
      return {grad_sum_TM, summand_gradient(grad_sum_TM, settings_.dropout, settings_.y_type)};
    }
    const NormResults results = {pass.saved[0], {}, pass.saved[1], pass.saved[2]};
    const NormGradients grads =
        norm_backward(settings_, results, pass.saved[3], grad_sum_TM, aligned_contiguous(normed_gradient_TM));
    return {grads.x_TM, grads.y_TM, grads.gain_M, grads.bias_M};
  }

  bool takes_undefined_gradients() const override { return true; }

 private:
  NormSettings settings_;
};

template <typename X, typename Y>
void add(const kernels::Dropout& dropout, const at::Tensor& x_TM, const at::Tensor& y_TM, const at::Tensor& sum_TM) {
  const kernels::AddDropout<X, Y> arguments = {.x = data_or_null<X>(x_TM),
                                               .y = data_or_null<Y>(y_TM),
                                               .sum = data_or_null<X>(sum_TM),
                                               .count = x_TM.numel(),
                                               .dropout = dropout};
  call_kernel<X>(x_TM, [&](auto... stream) { kernels::add_dropout(arguments, stream...); });
}

// Inputs: x_TM, y_TM.
class Add : public Operation {
 public:
  Add(const kernels::Dropout& dropout, at::ScalarType y_type) : dropout_(dropout), y_type_(y_type) {}

  Tensors forward(const Tensors& inputs, Tensors& /*saved*/) override {
    const ScopedTimer timer("residual sums");
    const at::Tensor x = aligned_contiguous(inputs[0]);
    const at::Tensor y = aligned_contiguous(inputs[1]);
    const at::Tensor sum_TM = at::empty_like(x);
    if (x.scalar_type() == at::kDouble) {
      add<double, double>(dropout_, x, y, sum_TM);
    } else if (x.scalar_type() == at::kBFloat16) {
      add<BFloat16, BFloat16>(dropout_, x, y, sum_TM);
    } else {
      with_float_or_bf16(y_type_, [&](auto zero) { add<float, decltype(zero)>(dropout_, x, y, sum_TM); });
    }
    return {sum_TM};
  }

  Tensors backward(const BackwardPass& pass) override {
    const ScopedTimer timer("residual sums");
    check_differentiated_once("add_dropout");
    const at::Tensor grad_sum_TM = aligned_contiguous(pass.grad_outputs[0]);
    return {grad_sum_TM, summand_gradient(grad_sum_TM, dropout_, y_type_)};
  }

 private:
  kernels::Dropout dropout_;
  at::ScalarType y_type_;
};

}  // namespace

at::Tensor normalise(const at::Tensor& x_TM, const at::Tensor& gain_M, const at::Tensor& bias_M, NormKind kind,
                     double epsilon, std::optional<at::ScalarType> type) {
  const AddNormOptions options = {.kind = kind, .epsilon = epsilon, .type = type};
  check_summands("normalise", x_TM, {}, options.dropout);
  check_norm("normalise", x_TM, gain_M, bias_M, options);
  if (backend_of(x_TM, kernels::can_add_norm(x_TM.size(-1))) == Backend::kDefinition) {
    return add_norm_plain(x_TM, {}, gain_M, bias_M, options).normed_TM;
  }
  return apply_one<Normalise>({x_TM, gain_M, bias_M}, norm_settings(x_TM, {}, options));
}

AddNorm add_norm(const at::Tensor& x_TM, const at::Tensor& y_TM, const at::Tensor& gain_M, const at::Tensor& bias_M,
                 const AddNormOptions& options) {
  if (!y_TM.defined()) {
    return {x_TM, normalise(x_TM, gain_M, bias_M, options.kind, options.epsilon, options.type)};
  }
  check_summands("add_norm", x_TM, y_TM, options.dropout);
  check_norm("add_norm", x_TM, gain_M, bias_M, options);
  if (backend_of(x_TM, kernels::can_add_norm(x_TM.size(-1))) == Backend::kDefinition) {
    return add_norm_plain(x_TM, y_TM, gain_M, bias_M, options);
  }
  const Tensors results =
      apply_operation(std::make_unique<AddAndNorm>(norm_settings(x_TM, y_TM, options)), {x_TM, y_TM, gain_M, bias_M});
  return {results[0], results[1]};
}

at::Tensor add_dropout(const at::Tensor& x_TM, const at::Tensor& y_TM, double rate, DropoutKey key) {
  check_summands("add_dropout", x_TM, y_TM, rate);
  check(y_TM.defined(), "add_dropout: y is undefined, needs a tensor");
  if (backend_of(x_TM) == Backend::kDefinition) return add_dropout_plain(x_TM, y_TM, rate, key);
  return apply_one<Add>({x_TM, y_TM}, dropout_rule(rate, key), y_TM.scalar_type());
}

}  // namespace edgewise
