// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "edgewise/base/bfloat16.h"
#include "edgewise/kernels/loss/softmax_loss.h"

namespace edgewise::kernels::reference {
namespace {

double get_target_probability(const SmoothedTarget& target, std::int64_t label, std::int64_t token) {
  if (label == target.ignored_token) return 0;
  if (token == label) return target.label_probability;
  return token == target.ignored_token ? 0 : target.other_probability;
}

template <typename Gradient>
void compute_row(const SoftmaxLoss<Gradient>& p, std::int64_t row) {
  const float* logits = p.logits + row * p.columns;
  const std::int64_t label = p.labels[row];
  const std::int64_t best = std::max_element(logits, logits + p.columns) - logits;
  const double maximum = logits[best];
  double total = 0;
  for (std::int64_t token = 0; token < p.columns; ++token) total += std::exp(logits[token] - maximum);
  const double log_total = maximum + std::log(total);

  double loss = label == p.target.ignored_token ? 0 : p.target.entropy;
  for (std::int64_t token = 0; token < p.columns; ++token) {
    const double target = get_target_probability(p.target, label, token);
    const double log_probability = logits[token] - log_total;
    if (target > 0) loss -= target * log_probability;
    const double gradient = label == p.target.ignored_token ? 0 : std::exp(log_probability) - target;
    if (p.gradient != nullptr) p.gradient[row * p.columns + token] = Gradient(static_cast<float>(gradient));
  }
  p.loss[row] = static_cast<float>(loss);
  p.is_correct[row] = best == label && label != p.target.ignored_token;
}

}  // namespace

template <typename Gradient>
void softmax_loss(const SoftmaxLoss<Gradient>& p) {
  for (std::int64_t row = 0; row < p.rows; ++row) compute_row(p, row);
}

template void softmax_loss(const SoftmaxLoss<float>&);
template void softmax_loss(const SoftmaxLoss<BFloat16>&);

}  // namespace edgewise::kernels::reference
