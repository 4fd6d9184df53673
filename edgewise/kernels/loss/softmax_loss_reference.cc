// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "edgewise/base/bfloat16.h"
#include "edgewise/kernels/loss/softmax_loss.h"

namespace edgewise::kernels::reference {
namespace {

double get_target_probability(const SmoothedTarget& target, std::int64_t label, std::int64_t token) {
  if (label == target.ignored_token) return 0;
  if (token == label) return target.label_probability;
  return token == target.ignored_token ? 0 : target.other_probability;
}

std::vector<double> compute_log_probabilities(const float* logits, std::int64_t count) {
  const double maximum = *std::max_element(logits, logits + count);
  double total = 0;
  for (std::int64_t i = 0; i < count; ++i) total += std::exp(logits[i] - maximum);
  std::vector<double> result(logits, logits + count);
  for (double& value : result) value -= maximum + std::log(total);
  return result;
}

template <typename Gradient>
void compute_row(const SoftmaxLoss<Gradient>& p, std::int64_t row) {
  const float* logits = p.logits + row * p.columns;
  const std::int64_t label = p.labels[row];
  const std::int64_t best = std::max_element(logits, logits + p.columns) - logits;
  const std::vector<double> log_probability = compute_log_probabilities(logits, p.columns);
  double loss = label == p.target.ignored_token ? 0 : p.target.entropy;
  for (std::int64_t token = 0; token < p.columns; ++token) {
    const double target = get_target_probability(p.target, label, token);
    if (target > 0) loss -= target * log_probability[token];
    const double gradient = label == p.target.ignored_token ? 0 : std::exp(log_probability[token]) - target;
    if (p.gradient != nullptr) p.gradient[row * p.columns + token] = Gradient(static_cast<float>(gradient));
  }
  p.loss[row] = static_cast<float>(loss);
  p.is_correct[row] = best == label && label != p.target.ignored_token;
}

double compute_kl(const std::vector<double>& log_p, const std::vector<double>& log_q) {
  double sum = 0;
  for (std::size_t i = 0; i < log_p.size(); ++i) sum += std::exp(log_p[i]) * (log_p[i] - log_q[i]);
  return sum;
}

/// Adds `weight` times the gradient of KL(p || q) to the gradients with respect to the logits of p and q.
void add_kl_gradient(const std::vector<double>& log_p, const std::vector<double>& log_q, double weight,
                     float* gradient_of_p, float* gradient_of_q) {
  const double kl = compute_kl(log_p, log_q);
  for (std::size_t i = 0; i < log_p.size(); ++i) {
    const double p = std::exp(log_p[i]);
    gradient_of_p[i] += static_cast<float>(weight * p * (log_p[i] - log_q[i] - kl));
    gradient_of_q[i] += static_cast<float>(weight * (std::exp(log_q[i]) - p));
  }
}

/// Writes the divergence of a pair, and adds its gradient to the gradients of softmax_loss().
template <typename Gradient>
void add_divergence(const ConsistencyLoss<Gradient>& p, std::int64_t pair, const std::vector<double>& first,
                    const std::vector<double>& second, std::vector<float>& gradient) {
  const double reverse_share = p.kind == ConsistencyKind::kRDrop ? 0.5 : 0;
  const double forward_share = 1 - reverse_share;
  p.divergence[pair] =
      static_cast<float>(forward_share * compute_kl(first, second) + reverse_share * compute_kl(second, first));
  float* gradient_of_first = gradient.data();
  float* gradient_of_second = gradient_of_first + first.size();
  add_kl_gradient(first, second, p.divergence_weight * forward_share, gradient_of_first, gradient_of_second);
  add_kl_gradient(second, first, p.divergence_weight * reverse_share, gradient_of_second, gradient_of_first);
}

/// Removes the SoftmaxLoss of a row.
template <typename Gradient>
void remove_loss(const ConsistencyLoss<Gradient>& p, std::int64_t row, std::span<float> gradient) {
  p.loss[row] = 0;
  p.is_correct[row] = false;
  std::ranges::fill(gradient, 0.0f);
}

template <typename Gradient>
void compute_pair(const ConsistencyLoss<Gradient>& p, std::int64_t pair) {
  const auto columns = static_cast<std::size_t>(p.columns);
  std::vector<float> gradient(2 * columns);
  std::vector<std::vector<double>> log_probability;
  for (int side = 0; side < 2; ++side) {
    const std::int64_t row = side * p.pairs + pair;
    float* logits = p.logits + row * p.columns;
    log_probability.push_back(compute_log_probabilities(logits, p.columns));
    reference::softmax_loss(SoftmaxLoss<float>{.rows = 1,
                                               .columns = p.columns,
                                               .logits = logits,
                                               .labels = p.labels + pair,
                                               .target = p.target,
                                               .gradient = gradient.data() + side * p.columns,
                                               .loss = p.loss + row,
                                               .is_correct = p.is_correct + row});
  }
  if (p.kind == ConsistencyKind::kSimCut) remove_loss(p, p.pairs + pair, std::span(gradient).subspan(columns));
  p.divergence[pair] = 0;
  if (p.labels[pair] != p.target.ignored_token) {
    add_divergence(p, pair, log_probability[0], log_probability[1], gradient);
  }
  if (p.gradient == nullptr) return;
  for (int side = 0; side < 2; ++side) {
    std::transform(gradient.begin() + side * p.columns, gradient.begin() + (side + 1) * p.columns,
                   p.gradient + (side * p.pairs + pair) * p.columns, [](float value) { return Gradient(value); });
  }
}

}  // namespace

template <typename Gradient>
void softmax_loss(const SoftmaxLoss<Gradient>& p) {
  for (std::int64_t row = 0; row < p.rows; ++row) compute_row(p, row);
}

template void softmax_loss(const SoftmaxLoss<float>&);
template void softmax_loss(const SoftmaxLoss<BFloat16>&);

template <typename Gradient>
void consistency_loss(const ConsistencyLoss<Gradient>& p) {
  for (std::int64_t pair = 0; pair < p.pairs; ++pair) compute_pair(p, pair);
}

template void consistency_loss(const ConsistencyLoss<float>&);
template void consistency_loss(const ConsistencyLoss<BFloat16>&);

}  // namespace edgewise::kernels::reference
