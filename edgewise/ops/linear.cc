// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/linear.h"

#include <string_view>

#include "edgewise/base/error.h"
#include "edgewise/ops/checks.h"

namespace edgewise {
namespace {

void check_layer(std::string_view function, const at::Tensor& x_TI, const LinearWeights& layer) {
  const auto& [weight_OI, bias_O] = layer;
  check_projection(function, "x", x_TI, weight_OI, bias_O);
}

}  // namespace

at::Tensor linear(const at::Tensor& x_TI, const at::Tensor& weight_OI, const at::Tensor& bias_O,
                  const LinearOptions& options) {
  check_layer("linear", x_TI, {weight_OI, bias_O});
  check_dropout_rate("linear", "dropout", options.dropout);
  return linear_plain(x_TI, weight_OI, bias_O, options);
}

std::vector<at::Tensor> linear_group(const at::Tensor& x_TI, std::span<const LinearWeights> layers) {
  std::vector<at::Tensor> results;
  for (const LinearWeights& layer : layers) {
    check_layer("linear_group", x_TI, layer);
    results.push_back(linear_plain(x_TI, layer.weight_OI, layer.bias_O));
  }
  return results;
}

}  // namespace edgewise
