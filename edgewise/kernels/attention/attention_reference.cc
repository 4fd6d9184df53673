// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/attention/attention_reference.h"

#include <algorithm>
#include <cmath>

#include "edgewise/kernels/dropout/dropout_reference.h"
#include "edgewise/kernels/reference_loops.h"
#include "edgewise/kernels/attention/work.h"

namespace edgewise::kernels::reference {
namespace {

// Where the query, key and value of one edge and head lie, as an offset in heads.
struct Ends {
  std::int64_t destination;
  std::int64_t source;
};

template <typename T>
Ends ends_of(const AttentionForward<T>& p, std::int64_t row, EdgeIndex edge, std::int64_t head) {
  return {row * p.num_heads + head, p.relation.source(row, edge) * p.num_heads + head};
}

template <typename T>
struct Score {
  T value;
  bool is_bounded;  // the clamp holds it, so query and key do not move it
};

template <typename T>
Score<T> score_of(const AttentionForward<T>& p, Ends ends, EdgeIndex edge, std::int64_t head) {
  const T* query_K = p.query + ends.destination * p.head_size;
  const T* key_K = p.key + ends.source * p.head_size;
  const T scaled = p.scale * dot(query_K, key_K, p.head_size);
  const T bias = p.edge_bias == nullptr ? T{0} : p.edge_bias[edge * p.num_heads + head];
  return {std::clamp(scaled, -p.clamp, p.clamp) + bias, std::abs(scaled) > p.clamp};
}

// Softmax over the edges of a row in one pass: a new maximum rescales what is already summed, so exp() never overflows
// and no score is stored.
template <typename T>
void attend_one(const AttentionForward<T>& p, std::int64_t row, std::int64_t head) {
  const std::int64_t destination = row * p.num_heads + head;
  T* out_V = p.out + destination * p.value_size;
  std::fill_n(out_V, p.value_size, T{0});
  EdgeDropout<T> dropout(p.dropout, head, p.num_heads);

  T maximum = -kInfinity<T>;
  T total = 0;
  for (EdgeIndex edge = p.relation.row_begin[row]; edge < p.relation.row_begin[row + 1]; ++edge) {
    const Ends ends = ends_of(p, row, edge, head);
    const T score = score_of(p, ends, edge, head).value;
    if (score > maximum) {
      const T shrink = exp_above(maximum, score);
      scale_in_place(out_V, shrink, p.value_size);
      total *= shrink;
      maximum = score;
    }
    const T weight = exp_above(score, maximum);
    add_scaled(out_V, weight * dropout.factor(edge), p.value + ends.source * p.value_size, p.value_size);
    total += weight;
  }

  p.log_normalizer[destination] = maximum + std::log(total);
  if (total != 0) scale_in_place(out_V, 1 / total, p.value_size);
}

// With w the weights, m the factors of dropout and g the gradient of out, a weight's gradient is m[e] * <g, value[s]>,
// and softmax turns those into w[e] * (m[e] * <g, value[s]> - sum over the row of w * m * <g, value>). That sum is <g,
// out>, which needs no pass of its own.
template <typename T>
void differentiate_row(const AttentionBackward<T>& p, std::int64_t row, std::int64_t head) {
  const AttentionForward<T>& f = p.forward;
  const std::int64_t destination = row * f.num_heads + head;
  const T* query_K = f.query + destination * f.head_size;
  const T* grad_out_V = p.grad_out + destination * f.value_size;
  T* grad_query_K = p.grad_query + destination * f.head_size;
  std::fill_n(grad_query_K, f.head_size, T{0});
  const T mean_gradient = dot(grad_out_V, f.out + destination * f.value_size, f.value_size);
  EdgeDropout<T> dropout(f.dropout, head, f.num_heads);

  for (EdgeIndex edge = f.relation.row_begin[row]; edge < f.relation.row_begin[row + 1]; ++edge) {
    const Ends ends = ends_of(f, row, edge, head);
    const Score<T> score = score_of(f, ends, edge, head);
    const T weight = exp_above(score.value, f.log_normalizer[destination]);
    const T factor = dropout.factor(edge);
    const T grad_weight = factor * dot(grad_out_V, f.value + ends.source * f.value_size, f.value_size);
    const T grad_score = weight * (grad_weight - mean_gradient);

    add_scaled(p.grad_value + ends.source * f.value_size, weight * factor, grad_out_V, f.value_size);
    if (p.grad_edge_bias != nullptr) p.grad_edge_bias[edge * f.num_heads + head] = grad_score;
    if (score.is_bounded) continue;
    add_scaled(grad_query_K, f.scale * grad_score, f.key + ends.source * f.head_size, f.head_size);
    add_scaled(p.grad_key + ends.source * f.head_size, f.scale * grad_score, query_K, f.head_size);
  }
}

template <typename T>
void weigh_row(const AttentionWeights<T>& p, std::int64_t row, std::int64_t head) {
  const AttentionForward<T>& f = p.forward;
  const EdgeIndex begin = f.relation.row_begin[row];
  const EdgeIndex end = f.relation.row_begin[row + 1];
  for (EdgeIndex edge = begin; edge < end; ++edge) {
    p.weight[edge * f.num_heads + head] = score_of(f, ends_of(f, row, edge, head), edge, head).value;
  }
  softmax_in_place(p.weight + begin * f.num_heads + head, f.num_heads, end - begin);
}

}  // namespace

template <typename T>
void attention_forward(const AttentionForward<T>& p) {
  parallel_rows(p.relation, p.heads(), [&](std::int64_t row, std::int64_t head) { attend_one(p, row, head); });
}

template <typename T>
void attention_backward(const AttentionBackward<T>& p) {
  const AttentionForward<T>& f = p.forward;
  clear_heads(p.grad_key, 0, f.relation.num_sources, f.heads(), f.num_heads, f.head_size);
  clear_heads(p.grad_value, 0, f.relation.num_sources, f.heads(), f.num_heads, f.value_size);
  parallel_runs(f.relation, f.heads(), [&](std::int64_t first_row, std::int64_t end_row, std::int64_t head) {
    for (std::int64_t row = first_row; row < end_row; ++row) differentiate_row(p, row, head);
  });
}

template <typename T>
void attention_weights(const AttentionWeights<T>& p) {
  parallel_rows(p.forward.relation, p.forward.heads(),
                [&](std::int64_t row, std::int64_t head) { weigh_row(p, row, head); });
}

template void attention_forward(const AttentionForward<float>&);
template void attention_forward(const AttentionForward<double>&);
template void attention_backward(const AttentionBackward<float>&);
template void attention_backward(const AttentionBackward<double>&);
template void attention_weights(const AttentionWeights<float>&);
template void attention_weights(const AttentionWeights<double>&);

}  // namespace edgewise::kernels::reference
