// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/add_norm.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <cmath>
#include <memory>
#include <type_traits>

#include "edgewise/base/error.h"
#include "edgewise/base/profile.h"
#include "edgewise/kernels/norm/add_norm.h"
#include "edgewise/ops/backend.h"
#include "edgewise/ops/checks.h"
#include "edgewise/ops/dropout_kernel.h"
#include "edgewise/ops/operation.h"

// Shapes: T = rows, in any number of dimensions, M = features.
namespace edgewise {
namespace {

void check_feature_parameter(std::string_view function, std::string_view name, const at::Tensor& parameter_M,
                             const at::Tensor& x_TM) {
  check_parameter(function, name, parameter_M, "x", x_TM);
  const std::int64_t size = x_TM.size(-1);
  check(parameter_M.dim() == 1 && parameter_M.size(0) == size,
        "{}: {} is {}, but x has {} features, needs one number per feature", function, name, shape_text(parameter_M),
        size);
}

void check_summands(std::string_view function, const at::Tensor& x_TM, const at::Tensor& y_TM, double dropout) {
  check_floating_point(function, "x", x_TM);
  check_dropout_rate(function, "dropout", dropout);
  if (!y_TM.defined()) return;
  check_floating_point(function, "y", y_TM);
  check(y_TM.sizes() == x_TM.sizes(), "{}: y is {} but x is {}, needs the same shape", function, shape_text(y_TM),
        shape_text(x_TM));
  const bool is_narrower = x_TM.scalar_type() == at::kFloat && y_TM.scalar_type() == at::kBFloat16;
  if (!is_narrower) check_same_type(function, "y", y_TM, "x", x_TM);
  check_same_device(function, "y", y_TM, "x", x_TM);
}

void check_norm(std::string_view function, const at::Tensor& x_TM, const at::Tensor& gain_M, const at::Tensor& bias_M,
                const AddNormOptions& options) {
  check(x_TM.dim() >= 1, "{}: x has no dimensions, needs at least one: features", function);
  check_feature_parameter(function, "gain", gain_M, x_TM);
  if (bias_M.defined()) check_feature_parameter(function, "bias", bias_M, x_TM);
  check(options.epsilon >= 0.0, "{}: epsilon is {}, needs at least 0", function, options.epsilon);
  check(options.kind != NormKind::kStdNorm || x_TM.size(-1) != 1,
        "{}: x has 1 feature, but kStdNorm needs at least 2; its deviation is over n - 1", function);
  const at::ScalarType type = options.type.value_or(x_TM.scalar_type());
  check(type == parameter_type(x_TM) || (type == at::kBFloat16 && parameter_type(x_TM) == at::kFloat),
        "{}: type is {}, but x has type {}, needs {}", function, at::toString(type), at::toString(x_TM.scalar_type()),
        parameter_type(x_TM) == at::kDouble ? "Double" : "Float or BFloat16");
}

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
  at::Tensor bias_M;  // undefined if it is not needed
};

/// Calls fn(X{}, Y{}, N{}) with the types of x, y and normed.
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

/// Computes the gradients, that of the bias if `needs_bias`. An undefined grad_sum means zeros.
NormGradients norm_backward(const NormSettings& settings, const NormResults& results, const at::Tensor& gain_M,
                            const at::Tensor& grad_sum_TM, const at::Tensor& grad_normed_TM, bool needs_bias) {
  const at::Tensor& sum_TM = results.sum_TM;
  const bool y_differs = settings.dropout.rate > 0.0 || settings.y_type != sum_TM.scalar_type();
  NormGradients grads = {.x_TM = at::empty_like(sum_TM),
                         .y_TM = y_differs ? at::empty_like(sum_TM, settings.y_type) : at::Tensor(),
                         .gain_M = at::empty_like(gain_M),
                         .bias_M = needs_bias ? at::empty_like(gain_M) : at::Tensor()};
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

/// Returns the gradient of y, from the gradient of the sum x + dropout(y).
at::Tensor summand_gradient(const at::Tensor& grad_sum_TM, const kernels::Dropout& dropout, at::ScalarType y_type) {
  const bool is_unchanged = dropout.rate == 0.0 && grad_sum_TM.scalar_type() == y_type;
  return is_unchanged ? grad_sum_TM : apply_dropout(grad_sum_TM, dropout, y_type);
}

/// Inputs: x_TM, y_TM, gain_M, bias_M. Outputs: sum_TM, unless y_TM is undefined, and normed_TM.
class AddAndNorm : public Operation {
 public:
  explicit AddAndNorm(const NormSettings& settings) : settings_(settings) {}

  Tensors forward(const Tensors& inputs, Tensors& saved) override {
    const ScopedTimer timer("norms");
    const at::Tensor gain_M = aligned_contiguous(inputs[2]);
    const NormResults results = norm_forward(settings_, aligned_contiguous(inputs[0]), aligned_contiguous(inputs[1]),
                                             gain_M, aligned_contiguous(inputs[3]));
    saved = {results.sum_TM, results.mean_T, results.deviation_T, gain_M};
    if (!inputs[1].defined()) return {results.normed_TM};
    return {results.sum_TM, results.normed_TM};
  }

  Tensors backward(const BackwardPass& pass) override {
    const ScopedTimer timer("norms");
    const bool has_sum = pass.grad_outputs.size() == 2;
    check_differentiated_once(has_sum ? "add_norm" : "normalise");
    const at::Tensor& normed_gradient_TM = pass.grad_outputs.back();
    const at::Tensor grad_sum_TM = has_sum ? aligned_contiguous(pass.grad_outputs[0]) : at::Tensor();
    if (!normed_gradient_TM.defined()) {
      if (!grad_sum_TM.defined()) return {};
      return {grad_sum_TM, summand_gradient(grad_sum_TM, settings_.dropout, settings_.y_type)};
    }
    const NormResults results = {pass.saved[0], {}, pass.saved[1], pass.saved[2]};
    const NormGradients grads = norm_backward(settings_, results, pass.saved[3], grad_sum_TM,
                                              aligned_contiguous(normed_gradient_TM), pass.needs_gradient[3]);
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

/// Inputs: x_TM, y_TM.
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

at::Tensor compute_divisor(const at::Tensor& centred_TM, const AddNormOptions& options) {
  if (options.kind != NormKind::kStdNorm) {
    return (centred_TM.square().mean(-1, /*keepdim=*/true) + options.epsilon).sqrt();
  }
  // norm() has a gradient at 0, unlike a square root. std() would print a warning for a tensor without rows.
  const at::Tensor length_T1 = centred_TM.norm(2, {-1}, /*keepdim=*/true);
  return length_T1 / std::sqrt(static_cast<double>(centred_TM.size(-1) - 1)) + options.epsilon;
}

}  // namespace

at::Tensor normalise(const at::Tensor& x_TM, const at::Tensor& gain_M, const at::Tensor& bias_M, NormKind kind,
                     double epsilon, std::optional<at::ScalarType> type) {
  const AddNormOptions options = {.kind = kind, .epsilon = epsilon, .type = type};
  check_summands("normalise", x_TM, {}, options.dropout);
  check_norm("normalise", x_TM, gain_M, bias_M, options);
  if (backend_of(x_TM, kernels::can_add_norm(x_TM.size(-1))) == Backend::kDefinition) {
    return add_norm_plain(x_TM, {}, gain_M, bias_M, options).normed_TM;
  }
  return apply_one<AddAndNorm>({x_TM, {}, gain_M, bias_M}, norm_settings(x_TM, {}, options));
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

AddNorm add_norm_plain(const at::Tensor& x_TM, const at::Tensor& y_TM, const at::Tensor& gain_M,
                       const at::Tensor& bias_M, const AddNormOptions& options) {
  const at::Tensor sum_TM = y_TM.defined() ? add_dropout_plain(x_TM, y_TM, options.dropout, options.dropout_key) : x_TM;
  const at::Tensor wide_TM = sum_TM.to(gain_M.scalar_type());
  const bool is_centred = options.kind != NormKind::kRmsNorm;
  const at::Tensor centred_TM = is_centred ? wide_TM - wide_TM.mean(-1, /*keepdim=*/true) : wide_TM;
  at::Tensor normed_TM = centred_TM / compute_divisor(centred_TM, options) * gain_M;
  if (bias_M.defined()) normed_TM = normed_TM + bias_M;
  return {sum_TM, normed_TM.to(options.type.value_or(x_TM.scalar_type()))};
}

at::Tensor add_dropout_plain(const at::Tensor& x_TM, const at::Tensor& y_TM, double rate, DropoutKey key) {
  const at::ScalarType wide = parameter_type(x_TM);
  return (x_TM.to(wide) + dropout(y_TM.to(wide), rate, key)).to(x_TM.scalar_type());
}

}  // namespace edgewise
