// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/adam_plain.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/where.h>

#include <cmath>

namespace edgewise {

void update_plain(const AdamArrays& arrays, const AdamUpdate& update, const AdamOptions& options) {
  const auto assign = [&](const at::Tensor& to, const at::Tensor& from) {
    to.copy_(at::where(update.is_skipped, to, from));
  };
  const auto step = static_cast<double>(update.step);
  assign(arrays.gradients, arrays.gradients / update.divisor);
  assign(arrays.means, options.beta1 * arrays.means + (1.0 - options.beta1) * arrays.gradients);
  assign(arrays.variances, options.beta2 * arrays.variances + (1.0 - options.beta2) * arrays.gradients.square());
  const at::Tensor mean = arrays.means / (1.0 - std::pow(options.beta1, step));
  const at::Tensor deviation = (arrays.variances / (1.0 - std::pow(options.beta2, step))).sqrt();
  assign(arrays.values, arrays.values * (1.0 - update.learning_rate * update.weight_decay) -
                            update.learning_rate * mean / (deviation + options.epsilon));
}

}  // namespace edgewise
