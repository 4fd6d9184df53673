// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "edgewise/base/random.h"
#include "edgewise/graph/relation.h"
#include "edgewise/kernels/attention/attention.h"

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
  std::int64_t num_key_heads = 0;  // 0: num_heads

  std::int64_t key_heads() const { return num_key_heads == 0 ? num_heads : num_key_heads; }
};

/// The results of attention and its gradients. AttentionProblem first fills these vectors with NaN, so that a
/// comparison finds numbers that a kernel does not write.
template <typename T>
struct AttentionResult {
  std::vector<T> out, grad_query, grad_key, grad_value;
  std::vector<AccumulatorType<T>> log_normalizer, weight, grad_edge_bias;

  friend bool operator==(const AttentionResult&, const AttentionResult&) = default;
};

/// Random arguments of attention. Methods compute the results by given kernels, by the reference, or by the definition.
template <typename T>
class AttentionProblem {
 public:
  AttentionProblem(Relation relation, AttentionSizes sizes, AttentionCase options)
      : relation_(std::move(relation)), sizes_(sizes), case_(std::move(options)) {
    const std::int64_t rows = relation_.num_destinations() * sizes.num_heads;
    const std::int64_t sources = relation_.num_sources() * sizes.key_heads();
    query_ = normal<T>(rows * sizes.head_size);
    key_ = normal<T>(sources * sizes.head_size);
    value_ = normal<T>(sources * sizes.value_size);
    grad_out_ = normal<T>(rows * sizes.value_size);
    if (case_.has_bias) edge_bias_ = normal<AccumulatorType<T>>(relation_.num_edges() * sizes.num_heads);
  }

  /// Converts the arguments of `other` to T.
  template <typename U>
  explicit AttentionProblem(const AttentionProblem<U>& other)
      : relation_(other.relation_),
        sizes_(other.sizes_),
        case_(other.case_),
        query_(other.query_.begin(), other.query_.end()),
        key_(other.key_.begin(), other.key_.end()),
        value_(other.value_.begin(), other.value_.end()),
        grad_out_(other.grad_out_.begin(), other.grad_out_.end()),
        edge_bias_(other.edge_bias_.begin(), other.edge_bias_.end()) {}

  /// Returns a problem on `relation`, whose nodes are this problem's nodes from first_destination and first_source on.
  AttentionProblem part(Relation relation, std::int64_t first_destination, std::int64_t first_source) const {
    AttentionProblem result = *this;
    const std::int64_t rows = relation.num_destinations();
    const std::int64_t sources = relation.num_sources();
    auto select = [](std::vector<T>& values, std::int64_t first, std::int64_t count, std::int64_t size) {
      const auto begin = values.begin() + first * size;
      values = std::vector<T>(begin, begin + count * size);
    };
    select(result.query_, first_destination, rows, sizes_.num_heads * sizes_.head_size);
    select(result.grad_out_, first_destination, rows, sizes_.num_heads * sizes_.value_size);
    select(result.key_, first_source, sources, sizes_.key_heads() * sizes_.head_size);
    select(result.value_, first_source, sources, sizes_.key_heads() * sizes_.value_size);
    result.relation_ = std::move(relation);
    return result;
  }

  const Relation& relation() const { return relation_; }
  std::vector<AccumulatorType<T>>& edge_bias() { return edge_bias_; }

  std::vector<T>& query() { return query_; }
  std::vector<T>& key() { return key_; }
  std::vector<T>& value() { return value_; }
  std::vector<T>& grad_out() { return grad_out_; }

  /// Runs the reference kernels.
  AttentionResult<T> run() const {
    const RelationView view = relation_.view();
    return run_with([&](const auto& p) { reference::attention_forward(p, view); },
                    [&](const auto& p) { reference::attention_backward(p, view); },
                    [&](const auto& p) { reference::attention_weights(p, view); });
  }

  /// Runs the given kernels. Does not compute AttentionResult::weight.
  template <class Forward, class Backward>
  AttentionResult<T> run_with(Forward forward, Backward backward) const {
    return run_with(forward, backward, [](const auto& /*p*/) {});
  }

  template <class Forward, class Backward, class Weights>
  AttentionResult<T> run_with(Forward forward, Backward backward, Weights weights) const {
    AttentionResult<T> result = filled_with_nan();
    const AttentionForward<T> p = arguments(result);
    forward(p);
    backward(AttentionBackward<T>{p, grad_out_.data(), result.grad_query.data(), result.grad_key.data(),
                                  result.grad_value.data(), case_.has_bias ? result.grad_edge_bias.data() : nullptr});
    weights(AttentionWeights<T>{p, result.weight.data()});
    return result;
  }

  /// Runs the reference kernels in double, on the arguments converted to double.
  AttentionResult<double> run_in_double() const { return AttentionProblem<double>(*this).run(); }

  /// Computes the results by the definition, in double: explicit sums, softmax and the Jacobian of softmax.
  AttentionResult<double> compute_by_definition() const;

 private:
  template <typename U>
  friend class AttentionProblem;

  template <typename U>
  std::vector<U> normal(std::int64_t count) {
    std::vector<U> values(static_cast<std::size_t>(count));
    for (U& value : values) value = static_cast<U>(static_cast<AccumulatorType<U>>(random_.normal()));
    return values;
  }

  AttentionResult<T> filled_with_nan() const {
    const auto edges = static_cast<std::size_t>(relation_.num_edges() * sizes_.num_heads);
    const auto rows = static_cast<std::size_t>(relation_.num_destinations() * sizes_.num_heads);
    const auto nan = std::numeric_limits<AccumulatorType<T>>::quiet_NaN();
    const auto not_written = static_cast<T>(nan);
    return {.out = std::vector<T>(grad_out_.size(), not_written),
            .grad_query = std::vector<T>(query_.size(), not_written),
            .grad_key = std::vector<T>(key_.size(), not_written),
            .grad_value = std::vector<T>(value_.size(), not_written),
            .log_normalizer = std::vector<AccumulatorType<T>>(rows, nan),
            .weight = std::vector<AccumulatorType<T>>(edges, nan),
            .grad_edge_bias = std::vector<AccumulatorType<T>>(case_.has_bias ? edges : 0, nan)};
  }

  AttentionForward<T> arguments(AttentionResult<T>& result) const {
    return {.query = query_.data(),
            .key = key_.data(),
            .value = value_.data(),
            .edge_bias = case_.has_bias ? edge_bias_.data() : nullptr,
            .out = result.out.data(),
            .log_normalizer = result.log_normalizer.data(),
            .num_heads = sizes_.num_heads,
            .head_size = sizes_.head_size,
            .value_size = sizes_.value_size,
            .scale = static_cast<AccumulatorType<T>>(case_.scale),
            .clamp = static_cast<AccumulatorType<T>>(case_.clamp),
            .dropout = {case_.dropout, /*seed=*/11, /*stream=*/3},
            .num_key_heads = sizes_.num_key_heads};
  }

  double factor(EdgeIndex edge, std::int64_t head) const {
    if (case_.dropout == 0) return 1;
    const auto block = philox(11, 3, static_cast<std::uint64_t>(edge / 4 * sizes_.num_heads + head));
    return block[edge % 4] < case_.dropout * 0x1p32 ? 0 : 1 / (1 - case_.dropout);
  }

  void compute_row_by_definition(std::int64_t row, std::int64_t head, AttentionResult<double>& result) const;

  RandomStream random_{/*seed=*/5};
  Relation relation_;
  AttentionSizes sizes_;
  AttentionCase case_;
  std::vector<T> query_, key_, value_, grad_out_;
  std::vector<AccumulatorType<T>> edge_bias_;
};

template <typename T>
AttentionResult<double> AttentionProblem<T>::compute_by_definition() const {
  const AttentionResult<T> like = filled_with_nan();
  auto zeros = [](const auto& shape) { return std::vector<double>(shape.size(), 0.0); };
  AttentionResult<double> result = {.out = zeros(like.out),
                                    .grad_query = zeros(like.grad_query),
                                    .grad_key = zeros(like.grad_key),
                                    .grad_value = zeros(like.grad_value),
                                    .log_normalizer = zeros(like.log_normalizer),
                                    .weight = zeros(like.weight),
                                    .grad_edge_bias = zeros(like.grad_edge_bias)};
  for (std::int64_t row = 0; row < relation_.num_destinations(); ++row) {
    for (std::int64_t head = 0; head < sizes_.num_heads; ++head) compute_row_by_definition(row, head, result);
  }
  return result;
}

template <typename T>
void AttentionProblem<T>::compute_row_by_definition(std::int64_t row, std::int64_t head,
                                                    AttentionResult<double>& result) const {
  const auto [num_heads, head_size, value_size, num_key_heads] = sizes_;
  const std::int64_t key_heads = sizes_.key_heads();
  const std::int64_t key_head = head / (num_heads / key_heads);
  const EdgeIndex begin = relation_.row_begin()[row];
  const std::int64_t count = relation_.row_size(row);
  const std::int64_t at_row = row * num_heads + head;
  auto at_edge = [&](std::int64_t i) { return (begin + i) * num_heads + head; };
  auto at_source = [&, key_heads = key_heads](std::int64_t i) {
    return relation_.view().source(row, begin + i) * key_heads + key_head;
  };

  std::vector<double> score(count), weight(count), grad_weight(count);
  std::vector<bool> is_clamped(count);
  double maximum = -std::numeric_limits<double>::infinity();
  for (std::int64_t i = 0; i < count; ++i) {
    double product = 0;
    for (std::int64_t k = 0; k < head_size; ++k) {
      product += static_cast<double>(query_[at_row * head_size + k]) * key_[at_source(i) * head_size + k];
    }
    is_clamped[i] = std::abs(case_.scale * product) > case_.clamp;
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
    const double dropped_weight = weight[i] * factor(begin + i, head);
    for (std::int64_t v = 0; v < value_size; ++v) {
      const double grad = grad_out_[at_row * value_size + v];
      const double value = value_[at_source(i) * value_size + v];
      result.out[at_row * value_size + v] += dropped_weight * value;
      result.grad_value[at_source(i) * value_size + v] += dropped_weight * grad;
      grad_weight[i] += factor(begin + i, head) * grad * value;
    }
  }
  for (std::int64_t i = 0; i < count; ++i) {
    double grad_score = 0;
    for (std::int64_t j = 0; j < count; ++j) grad_score += grad_weight[j] * weight[j] * ((i == j ? 1 : 0) - weight[i]);
    if (case_.has_bias) result.grad_edge_bias[at_edge(i)] = grad_score;
    if (is_clamped[i]) continue;
    for (std::int64_t k = 0; k < head_size; ++k) {
      const std::int64_t query = at_row * head_size + k;
      const std::int64_t key = at_source(i) * head_size + k;
      result.grad_query[query] += case_.scale * grad_score * key_[key];
      result.grad_key[key] += case_.scale * grad_score * query_[query];
    }
  }
}

}  // namespace edgewise::kernels
