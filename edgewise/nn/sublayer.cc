// SPDX-License-Identifier: Apache-2.0
#include "edgewise/nn/sublayer.h"

#include "edgewise/ops/add_norm.h"

namespace edgewise {
namespace {

const Norm kIdentity;

/// Returns x + dropout(y) and the norm of this sum, the norm in `type`.
AddNorm add(const at::Tensor& x_TM, const at::Tensor& y_TM, const Norm& norm, at::ScalarType type, double dropout,
            Pass& pass) {
  AddNormOptions options = {.kind = norm.kind, .epsilon = norm.epsilon, .type = type};
  pass.set_dropout(dropout, options);
  if (norm.gain.defined()) return add_norm(x_TM, y_TM, norm.gain, norm.bias, options);
  const at::Tensor sum_TM = add_dropout(x_TM, y_TM, options.dropout, options.dropout_key);
  return {sum_TM, sum_TM.to(type)};
}

}  // namespace

Norm::Norm(std::int64_t size, NormKind kind_of_norm, double norm_epsilon, bool has_bias)
    : gain(constant_init({size}, 1.0)),
      bias(has_bias ? constant_init({size}, 0.0) : at::Tensor()),
      kind(kind_of_norm),
      epsilon(norm_epsilon) {}

at::Tensor Norm::operator()(const at::Tensor& x_TM, std::optional<at::ScalarType> type) const {
  if (!gain.defined()) return x_TM.to(type.value_or(x_TM.scalar_type()));
  return normalise(x_TM, gain, bias, kind, epsilon, type);
}

Sublayer::Sublayer(const LayerOptions& options)
    : norm(options), placement(options.norm_placement), dropout(options.dropout.residual) {}

const Norm& Sublayer::first_norm() const { return placement == NormPlacement::kPre ? norm : kIdentity; }

NodeState Sublayer::begin(const at::Tensor& x_TM, const Pass& pass) const {
  return {x_TM, first_norm()(x_TM, pass.type_of(x_TM))};
}

at::Tensor Sublayer::prepare_input(const at::Tensor& x_TM) const { return first_norm()(x_TM); }

NodeState Sublayer::add_output(const at::Tensor& x_TM, const at::Tensor& y_TM, const Norm& next, Pass& pass) const {
  if (placement == NormPlacement::kPre) {
    const AddNorm result = add(x_TM, y_TM, next, pass.type_of(x_TM), dropout, pass);
    return {result.sum_TM, result.normed_TM};
  }
  const at::Tensor normed_TM = add(x_TM, y_TM, norm, x_TM.scalar_type(), dropout, pass).normed_TM;
  return {normed_TM, next(normed_TM, pass.type_of(normed_TM))};
}

at::Tensor Sublayer::add_output(const at::Tensor& x_TM, const at::Tensor& y_TM, Pass& pass) const {
  return add_output(x_TM, y_TM, kIdentity, pass).x_TM;
}

}  // namespace edgewise
