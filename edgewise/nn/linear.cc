// SPDX-License-Identifier: Apache-2.0
#include "edgewise/nn/linear.h"

#include <fmt/ranges.h>

#include "edgewise/base/error.h"
#include "edgewise/nn/module.h"

namespace edgewise {

Linear::Linear(std::int64_t in, std::int64_t out, Bias with_bias, RandomStream& random)
    : weight(xavier_uniform({out, in}, in, out, random)) {
  if (with_bias == Bias::kZero) bias = constant_init({out}, 0.0);
}

at::Tensor Linear::operator()(const at::Tensor& x, const LinearOptions& options) const {
  check(x.dim() > 0 && x.size(-1) == weight.size(1), "Linear: x is [{}], needs a last dimension of {}",
        fmt::join(x.sizes(), ", "), weight.size(1));
  return linear(x, weight, bias, options);
}

}  // namespace edgewise
