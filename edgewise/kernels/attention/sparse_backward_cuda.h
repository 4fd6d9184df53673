// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/attention/sparse_rows_cuda.h"

// The gradients of attention over CSR rows, in two passes without atomics: over rows for the gradients of queries and
// edge biases, then over sources for those of keys and values. Both passes compute the weights again, so that no memory
// grows with the number of edges.
namespace edgewise::kernels::gpu {

/// The numbers of a row and head from which the gradients of its edges follow.
struct alignas(8) RowStatistics {
  float log_normalizer = kMinusInfinity;  // in units of log2(e)
  float mean_gradient = 0;                // sum of weights times gradients of weights: <gradient of out, out>
};

/// The gradients of an edge.
struct SparseGradients {
  float kept_weight;  // the weight after dropout
  float score;
  float product;  // the gradient of <query, key>
};

/// Differentiates the softmax of an edge. grad_weight is <gradient of out, value>.
template <typename T>
EDGEWISE_DEVICE SparseGradients differentiate(const SparseArguments<T>& p, const ListedEdge& edge, int head,
                                              float product, float grad_weight, const RowStatistics& row) {
  const auto score = p.score(product, edge, head);
  const float weight = score.value == kMinusInfinity ? 0.0f : exp2_approximate(score.value - row.log_normalizer);
  const float factor = p.is_kept(edge, head) ? p.dropout_rule.scale() : 0.0f;
  const float grad = weight * fused_multiply_add(factor, grad_weight, -row.mean_gradient);
  return {weight * factor, grad, score.is_clamped ? 0.0f : grad * p.scale};
}

/// Differentiates this lane's edge of a step. `own` are the rows of the node that the group computes, and `others`
/// those of the other ends of the edges. A collective of the warp.
template <int kLanes, typename T>
EDGEWISE_DEVICE SparseGradients differentiate_step(const SparseArguments<T>& p, const ListedEdge& edge, int head,
                                                   const QuadPair& own, const QuadPair (&others)[kEdgesOfStep],
                                                   const RowStatistics& row) {
  using Part = LanePart<T, kLanes>;
  float product[kEdgesOfStep];
  float grad_weight[kEdgesOfStep];
  EDGEWISE_UNROLL
  for (int e = 0; e < kEdgesOfStep; ++e) {
    product[e] = Part::dot(own.first, others[e].first);
    grad_weight[e] = Part::dot(own.second, others[e].second);
  }
  return differentiate(p, edge, head, sum_of_edge<kLanes>(product), sum_of_edge<kLanes>(grad_weight), row);
}

/// The pass over rows.
template <typename T, int kLanes>
struct SparseBackwardRows {
  static constexpr const char* kName = "sparse_attention_backward, rows";
  static constexpr int kThreads = kThreadsOfSparseBlock;
  struct Shared {};
  using Part = LanePart<T, kLanes>;

  SparseArguments<T> p;
  EdgeLists rows;
  const T* out;                 // [D, H, V]
  const T* grad_out;            // [D, H, V]
  const float* log_normalizer;  // [D, H]
  RowStatistics* statistics;    // [D, H], for the pass over sources
  T* grad_query;                // [D, H, K]
  float* grad_edge_bias;        // [E, H], or null

  EDGEWISE_DEVICE void operator()() const {
    const HeadNode row = p.template head_node<kLanes>(rows.num_lists);
    const EdgeList edges(rows, row.node);
    const QuadPair own = load_pair<kLanes>(p, {p.query, grad_out}, p.at(row));
    const RowStatistics of_row = make_statistics(row, own.second);
    float sum[Part::kCount] = {};

    const int num_steps = edges.num_steps();
    ListedEdge next = edges.edge(0);
    for (int step = 0; step < num_steps; ++step) {
      const ListedEdge edge = next;
      next = edges.edge(step + 1);
      QuadPair sources[kEdgesOfStep];
      load_step<kLanes>(p, {p.key, p.value}, edge, row.head, sources);
      const SparseGradients gradients = differentiate_step<kLanes>(p, edge, row.head, own, sources, of_row);
      if (grad_edge_bias != nullptr && edge.exists() && lane_index() % kLanes < kEdgesOfStep) {
        grad_edge_bias[edge.number * p.num_heads + row.head] = gradients.score;
      }
      EDGEWISE_UNROLL
      for (int e = 0; e < kEdgesOfStep; ++e) {
        Part::add_scaled(sum, of_edge<kLanes>(gradients.product, e), sources[e].first);
      }
    }
    Part::store(grad_query, p.at(row), p.head_size, sum);
  }

 private:
  EDGEWISE_DEVICE RowStatistics make_statistics(const HeadNode& row, const Quad& grad) const {
    const float mean = sum_of_group<kLanes>(Part::dot(grad, Part::load(out, p.at(row), p.value_size)));
    if (!row.exists()) return {};
    const RowStatistics result = {log_normalizer[p.at(row)] * kLog2E, mean};
    if (lane_index() % kLanes == 0) statistics[p.at(row)] = result;
    return result;
  }
};

/// The pass over sources, each of which sums over the edges out of it.
template <typename T, int kLanes>
struct SparseBackwardSources {
  static constexpr const char* kName = "sparse_attention_backward, sources";
  static constexpr int kThreads = kThreadsOfSparseBlock;
  struct Shared {};
  using Part = LanePart<T, kLanes>;

  SparseArguments<T> p;
  EdgeLists sources;
  const T* grad_out;                // [D, H, V]
  const RowStatistics* statistics;  // [D, H]
  T* grad_key;                      // [S, H, K]
  T* grad_value;                    // [S, H, V]

  EDGEWISE_DEVICE void operator()() const {
    const HeadNode source = p.template head_node<kLanes>(sources.num_lists);
    const EdgeList edges(sources, source.node);
    const QuadPair own = load_pair<kLanes>(p, {p.key, p.value}, p.at(source));
    float key_sum[Part::kCount] = {};
    float value_sum[Part::kCount] = {};

    const int num_steps = edges.num_steps();
    ListedEdge next = edges.edge(0);
    for (int step = 0; step < num_steps; ++step) {
      const ListedEdge edge = next;
      next = edges.edge(step + 1);
      const RowStatistics of_row = edge.exists() ? statistics[p.at(edge.node, source.head)] : RowStatistics{};
      QuadPair rows[kEdgesOfStep];
      load_step<kLanes>(p, {p.query, grad_out}, edge, source.head, rows);
      const SparseGradients gradients = differentiate_step<kLanes>(p, edge, source.head, own, rows, of_row);
      EDGEWISE_UNROLL
      for (int e = 0; e < kEdgesOfStep; ++e) {
        Part::add_scaled(key_sum, of_edge<kLanes>(gradients.product, e), rows[e].first);
        Part::add_scaled(value_sum, of_edge<kLanes>(gradients.kept_weight, e), rows[e].second);
      }
    }
    Part::store(grad_key, p.at(source), p.head_size, key_sum);
    Part::store(grad_value, p.at(source), p.value_size, value_sum);
  }
};

}  // namespace edgewise::kernels::gpu
