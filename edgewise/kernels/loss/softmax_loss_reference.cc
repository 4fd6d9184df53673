// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/loss/softmax_loss_reference.h"

#include <algorithm>
#include <cmath>

#include "edgewise/base/bfloat16.h"

namespace edgewise::kernels::reference {
namespace {

double target_of_word(const SmoothedTarget& target, std::int64_t label, std::int64_t word) {
  if (label == target.ignored) return 0;
  if (word == label) return target.label;
  return word == target.ignored ? 0 : target.share;
}

template <typename Gradient>
void compute_row(const SoftmaxLoss<Gradient>& p, std::int64_t row) {
  const float* logits = p.logits + row * p.columns;
  const std::int64_t label = p.labels[row];
  const std::int64_t best = std::max_element(logits, logits + p.columns) - logits;
  const double maximum = logits[best];
  double total = 0;
  for (std::int64_t word = 0; word < p.columns; ++word) total += std::exp(logits[word] - maximum);
  const double log_total = maximum + std::log(total);

  double loss = label == p.target.ignored ? 0 : p.target.entropy;
  for (std::int64_t word = 0; word < p.columns; ++word) {
    const double target = target_of_word(p.target, label, word);
    const double log_probability = logits[word] - log_total;
    if (target > 0) loss -= target * log_probability;
    const double gradient = label == p.target.ignored ? 0 : std::exp(log_probability) - target;
    if (p.gradient != nullptr) p.gradient[row * p.columns + word] = Gradient(static_cast<float>(gradient));
  }
  p.loss[row] = static_cast<float>(loss);
  p.is_correct[row] = best == label && label != p.target.ignored;
}

}  // namespace

template <typename Gradient>
void softmax_loss(const SoftmaxLoss<Gradient>& p) {
  for (std::int64_t row = 0; row < p.rows; ++row) compute_row(p, row);
}

template void softmax_loss(const SoftmaxLoss<float>&);
template void softmax_loss(const SoftmaxLoss<BFloat16>&);

}  // namespace edgewise::kernels::reference
