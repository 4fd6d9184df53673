// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "edgewise/base/random.h"
#include "edgewise/graph/relation.h"
#include "edgewise/kernels/reference/attention.h"

namespace edgewise::kernels {

struct AttentionCase {
  std::string name;
  bool has_bias = false;
  double clamp = std::numeric_limits<double>::infinity();
  double dropout = 0.0;
  double scale = 0.5;
};

struct AttentionSizes {
  std::int64_t num_heads;
  std::int64_t head_size;
  std::int64_t value_size;
};

/// What an attention and its gradients come to; every number starts as NaN, so that one nobody writes is seen.
template <typename T>
struct AttentionResult {
  std::vector<T> out, log_normalizer, weight, grad_query, grad_key, grad_value, grad_edge_bias;
};

/// Random arguments of an attention, and two ways to its results.
template <typename T>
class AttentionProblem {
 public:
  AttentionProblem(Relation relation, AttentionSizes sizes, AttentionCase options)
      : relation_(std::move(relation)), sizes_(sizes), case_(std::move(options)) {
    const std::int64_t rows = relation_.num_destinations() * sizes.num_heads;
    const std::int64_t sources = relation_.num_sources() * sizes.num_heads;
    query_ = normal(rows * sizes.head_size);
    key_ = normal(sources * sizes.head_size);
    value_ = normal(sources * sizes.value_size);
    grad_out_ = normal(rows * sizes.value_size);
    if (case_.has_bias) edge_bias_ = normal(relation_.num_edges() * sizes.num_heads);
  }

  const Relation& relation() const { return relation_; }
  std::vector<T>& edge_bias() { return edge_bias_; }

  AttentionResult<T> run() const {
    AttentionResult<T> result = unwritten();
    const AttentionForward<T> forward = arguments(result);
    reference::attention_forward(forward);
    reference::attention_backward(AttentionBackward<T>{forward, grad_out_.data(), result.grad_query.data(),
                                                       result.grad_key.data(), result.grad_value.data(),
                                                       case_.has_bias ? result.grad_edge_bias.data() : nullptr});
    reference::attention_weights(AttentionWeights<T>{forward, result.weight.data()});
    return result;
  }

  /// The sums of the definition, each softmax and its Jacobian spelled out in double.
  AttentionResult<double> define() const;

 private:
  struct Row;

  std::vector<T> normal(std::int64_t count) {
    std::vector<T> values(static_cast<std::size_t>(count));
    for (T& value : values) value = static_cast<T>(random_.normal());
    return values;
  }

  AttentionResult<T> unwritten() const {
    auto like = [](std::size_t size) { return std::vector<T>(size, std::numeric_limits<T>::quiet_NaN()); };
    const auto edges = static_cast<std::size_t>(relation_.num_edges() * sizes_.num_heads);
    const auto rows = static_cast<std::size_t>(relation_.num_destinations() * sizes_.num_heads);
    return {like(grad_out_.size()),
            like(rows),
            like(edges),
            like(query_.size()),
            like(key_.size()),
            like(value_.size()),
            like(case_.has_bias ? edges : 0)};
  }

  AttentionForward<T> arguments(AttentionResult<T>& result) const {
    return {.relation = relation_.view(),
            .query = query_.data(),
            .key = key_.data(),
            .value = value_.data(),
            .edge_bias = case_.has_bias ? edge_bias_.data() : nullptr,
            .out = result.out.data(),
            .log_normalizer = result.log_normalizer.data(),
            .num_heads = sizes_.num_heads,
            .head_size = sizes_.head_size,
            .value_size = sizes_.value_size,
            .scale = static_cast<T>(case_.scale),
            .clamp = static_cast<T>(case_.clamp),
            .dropout = {case_.dropout, /*seed=*/11, /*stream=*/3}};
  }

  double factor(EdgeIndex edge, std::int64_t head) const {
    if (case_.dropout == 0) return 1;
    const auto block = philox(11, 3, static_cast<std::uint64_t>(edge / 4 * sizes_.num_heads + head));
    return block[edge % 4] < case_.dropout * 0x1p32 ? 0 : 1 / (1 - case_.dropout);
  }

  void define_row(std::int64_t row, std::int64_t head, AttentionResult<double>& result) const;

  RandomStream random_{/*seed=*/5};
  Relation relation_;
  AttentionSizes sizes_;
  AttentionCase case_;
  std::vector<T> query_, key_, value_, grad_out_, edge_bias_;
};

template <typename T>
AttentionResult<double> AttentionProblem<T>::define() const {
  const AttentionResult<T> like = unwritten();
  auto zeros = [](const std::vector<T>& shape) { return std::vector<double>(shape.size(), 0.0); };
  AttentionResult<double> result = {zeros(like.out),           zeros(like.log_normalizer), zeros(like.weight),
                                    zeros(like.grad_query),    zeros(like.grad_key),       zeros(like.grad_value),
                                    zeros(like.grad_edge_bias)};
  for (std::int64_t row = 0; row < relation_.num_destinations(); ++row) {
    for (std::int64_t head = 0; head < sizes_.num_heads; ++head) define_row(row, head, result);
  }
  return result;
}

template <typename T>
void AttentionProblem<T>::define_row(std::int64_t row, std::int64_t head, AttentionResult<double>& result) const {
  const auto [num_heads, head_size, value_size] = sizes_;
  const EdgeIndex begin = relation_.row_begin()[row];
  const std::int64_t count = relation_.row_size(row);
  const std::int64_t at_row = row * num_heads + head;
  auto at_edge = [&](std::int64_t i) { return (begin + i) * num_heads + head; };
  auto at_source = [&](std::int64_t i) { return relation_.view().source(row, begin + i) * num_heads + head; };

  std::vector<double> score(count), weight(count), grad_weight(count);
  std::vector<bool> is_bounded(count);
  double maximum = -std::numeric_limits<double>::infinity();
  for (std::int64_t i = 0; i < count; ++i) {
    double product = 0;
    for (std::int64_t k = 0; k < head_size; ++k) {
      product += static_cast<double>(query_[at_row * head_size + k]) * key_[at_source(i) * head_size + k];
    }
    is_bounded[i] = std::abs(case_.scale * product) > case_.clamp;
    score[i] = std::max(-case_.clamp, std::min(case_.clamp, case_.scale * product));
    if (case_.has_bias) score[i] += edge_bias_[at_edge(i)];
    maximum = std::max(maximum, score[i]);
  }
  double total = 0;
  for (const double s : score) total += std::exp(s - maximum);
  result.log_normalizer[at_row] = maximum + std::log(total);

  for (std::int64_t i = 0; i < count; ++i) {
    weight[i] = std::exp(score[i] - maximum) / total;
    result.weight[at_edge(i)] = weight[i];
    const double kept = weight[i] * factor(begin + i, head);
    for (std::int64_t v = 0; v < value_size; ++v) {
      const double grad = grad_out_[at_row * value_size + v];
      const double value = value_[at_source(i) * value_size + v];
      result.out[at_row * value_size + v] += kept * value;
      result.grad_value[at_source(i) * value_size + v] += kept * grad;
      grad_weight[i] += factor(begin + i, head) * grad * value;
    }
  }
  for (std::int64_t i = 0; i < count; ++i) {
    double grad_score = 0;
    for (std::int64_t j = 0; j < count; ++j) grad_score += grad_weight[j] * weight[j] * ((i == j ? 1 : 0) - weight[i]);
    if (case_.has_bias) result.grad_edge_bias[at_edge(i)] = grad_score;
    if (is_bounded[i]) continue;
    for (std::int64_t k = 0; k < head_size; ++k) {
      const std::int64_t query = at_row * head_size + k;
      const std::int64_t key = at_source(i) * head_size + k;
      result.grad_query[query] += case_.scale * grad_score * key_[key];
      result.grad_key[key] += case_.scale * grad_score * query_[query];
    }
  }
}

}  // namespace edgewise::kernels
