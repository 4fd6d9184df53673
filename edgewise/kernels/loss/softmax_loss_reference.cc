// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
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

/// Returns the gradient of (KL(p || q) + KL(q || p)) / 2 with respect to logit i of p; `p_to_q` is KL(p || q).
double compute_gradient(const std::vector<double>& log_p, const std::vector<double>& log_q, double p_to_q,
                        std::size_t i) {
  const double p = std::exp(log_p[i]);
  return (p - std::exp(log_q[i]) + p * (log_p[i] - log_q[i] - p_to_q)) / 2;
}

/// Writes the divergence of a pair, and adds its gradient to the gradients of softmax_loss().
template <typename Gradient>
void add_divergence(const RDropLoss<Gradient>& p, std::int64_t pair, const std::vector<double>& first,
                    const std::vector<double>& second, std::vector<float>& gradient) {
  const double forward_kl = compute_kl(first, second);
  const double reverse_kl = compute_kl(second, first);
  p.divergence[pair] = static_cast<float>((forward_kl + reverse_kl) / 2);
  for (std::size_t i = 0; i < first.size(); ++i) {
    gradient[i] += static_cast<float>(p.divergence_weight * compute_gradient(first, second, forward_kl, i));
    gradient[first.size() + i] +=
        static_cast<float>(p.divergence_weight * compute_gradient(second, first, reverse_kl, i));
  }
}

template <typename Gradient>
void compute_pair(const RDropLoss<Gradient>& p, std::int64_t pair) {
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
void rdrop_loss(const RDropLoss<Gradient>& p) {
  for (std::int64_t pair = 0; pair < p.pairs; ++pair) compute_pair(p, pair);
}

template void rdrop_loss(const RDropLoss<float>&);
template void rdrop_loss(const RDropLoss<BFloat16>&);

}  // namespace edgewise::kernels::reference
