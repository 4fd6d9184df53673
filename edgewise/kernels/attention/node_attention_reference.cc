// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "edgewise/kernels/attention/node_attention.h"

namespace edgewise::kernels::reference {
namespace {

template <typename T>
double score(const NodeAttention<T>& p, const float* query, const T* key, std::int64_t head) {
  double sum = 0;
  for (std::int64_t k = 0; k < p.head_size; ++k) {
    const std::int64_t i = k * p.num_heads + head;
    const double q = query[i];
    const double k_i = static_cast<float>(key[i]);
    sum += p.score_vector == nullptr ? q * k_i : p.score_vector[i] * std::tanh(q + k_i);
  }
  if (p.score_vector == nullptr) sum *= p.scale;
  return std::clamp(sum, -double{p.clamp}, double{p.clamp});
}

template <typename T>
void attend(const NodeAttention<T>& p, std::int64_t row, std::int64_t head) {
  const auto [begin, count] = p.ranges[row];
  const float* query = p.query + row * p.query_stride;
  std::vector<double> weights;
  for (std::int64_t s = 0; s < count; ++s) {
    weights.push_back(score(p, query, p.sources[begin + s] + p.key_offset, head));
  }
  const double maximum = count == 0 ? 0 : *std::max_element(weights.begin(), weights.end());
  double total = 0;
  for (double& weight : weights) total += weight = std::exp(weight - maximum);

  for (std::int64_t s = 0; p.weights != nullptr && s < count; ++s) {
    p.weights[row][s * p.num_heads + head] = static_cast<float>(weights[s] / total);
  }
  for (std::int64_t k = 0; k < p.head_size; ++k) {
    const std::int64_t i = k * p.num_heads + head;
    double sum = 0;
    for (std::int64_t s = 0; s < count; ++s) {
      sum += weights[s] * static_cast<float>(p.sources[begin + s][p.value_offset + i]);
    }
    p.out[row * p.head_size * p.num_heads + i] = count == 0 ? 0.0f : static_cast<float>(sum / total);
  }
}

}  // namespace

template <typename T>
void node_attention(const NodeAttention<T>& p) {
  for (std::int64_t row = 0; row < p.rows; ++row) {
    for (std::int64_t head = 0; head < p.num_heads; ++head) attend(p, row, head);
  }
}

template void node_attention(const NodeAttention<float>&);
template void node_attention(const NodeAttention<BFloat16>&);

}  // namespace edgewise::kernels::reference
