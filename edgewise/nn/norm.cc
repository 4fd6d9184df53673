// SPDX-License-Identifier: Apache-2.0
#include "edgewise/nn/norm.h"

#include "edgewise/nn/init.h"
#include "edgewise/ops/norm.h"

namespace edgewise {

Norm::Norm(std::int64_t size, NormKind kind_of_norm, double norm_epsilon)
    : gain(constant_init({size}, 1.0)), bias(constant_init({size}, 0.0)), kind(kind_of_norm), epsilon(norm_epsilon) {}

at::Tensor Norm::operator()(const at::Tensor& x_TM, std::optional<at::ScalarType> type) const {
  if (!gain.defined()) return x_TM.to(type.value_or(x_TM.scalar_type()));
  return normalise(x_TM, gain, bias, kind, epsilon, type);
}

}  // namespace edgewise
