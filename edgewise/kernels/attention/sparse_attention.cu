// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "edgewise/kernels/attention/sparse_attention.h"
#include "edgewise/kernels/attention/sparse_rows_cuda.h"

// Attention over CSR rows. The gradients are computed in two passes without atomics: over rows for the gradients of
// queries and edge biases, then over sources for those of keys and values. Both passes compute the weights again, so
// that no memory grows with the number of edges.
namespace edgewise::kernels {
namespace gpu {

/// Attention over CSR rows by online softmax: each key and value is loaded once for each edge.
template <typename T, int kLanes>
struct SparseForward {
  static constexpr const char* kName = "sparse_attention_forward";
  static constexpr int kThreads = kThreadsOfSparseBlock;
  struct Shared {};
  using Part = LanePart<T, kLanes>;

  SparseArguments<T> p;
  EdgeLists rows;
  T* out;                 // [D, H, V]
  float* log_normalizer;  // [D, H]

  EDGEWISE_DEVICE void operator()() const {
    const HeadNode row = p.template head_node<kLanes>(rows.num_lists);
    const EdgesOfGroup edges(rows, row.node);
    const Quad query = Part::load(p.query, p.at(row), p.head_size);
    float sum[Part::kCount] = {};
    OnlineSoftmax softmax;  // its sum is of this lane's edges

    const int num_steps = edges.num_steps();
    ListedEdge next = edges.edge(0);
    for (int step = 0; step < num_steps; ++step) {
      const ListedEdge edge = next;
      next = edges.edge(step + 1);
      QuadPair sources[kEdgesOfStep];
      load_step<kLanes>(p, {p.key, p.value}, edge, row.head, sources);
      float product[kEdgesOfStep];
      EDGEWISE_UNROLL
      for (int e = 0; e < kEdgesOfStep; ++e) product[e] = Part::dot(query, sources[e].first);

      const float score = p.score(sum_of_edge<kLanes>(product), edge, row.head).value;
      const float maximum = Maximum()(reduce_lanes<kEdgesOfStep>(score, Maximum()), softmax.maximum);
      const float factor = softmax.raise(maximum);
      const float weight = softmax.weight(score);
      softmax.sum += weight;
      const float kept_weight = p.is_kept(edge, row.head) ? weight : 0.0f;
      EDGEWISE_UNROLL
      for (int i = 0; i < Part::kCount; ++i) sum[i] *= factor;
      EDGEWISE_UNROLL
      for (int e = 0; e < kEdgesOfStep; ++e) Part::add_scaled(sum, of_edge<kLanes>(kept_weight, e), sources[e].second);
    }
    store(row, softmax, sum);
  }

 private:
  EDGEWISE_DEVICE void store(const HeadNode& row, const OnlineSoftmax& softmax, float (&sum)[Part::kCount]) const {
    OnlineSoftmax total = softmax;
    total.sum = reduce_lanes<kEdgesOfStep>(total.sum, Sum());
    const float factor = total.inverse_sum() * p.dropout_rule.scale();
    EDGEWISE_UNROLL
    for (int i = 0; i < Part::kCount; ++i) sum[i] *= factor;
    Part::store(out, p.at(row), p.value_size, sum);
    if (row.exists() && lane_index() % kLanes == 0) log_normalizer[p.at(row)] = total.log_normalizer();
  }
};

/// The weights of attention over CSR rows, in two passes over the edges of a row: the first one sums the weights.
template <typename T, int kLanes>
struct SparseWeights {
  static constexpr const char* kName = "sparse_attention_weights";
  static constexpr int kThreads = kThreadsOfSparseBlock;
  struct Shared {};
  using Part = LanePart<T, kLanes>;

  SparseArguments<T> p;
  EdgeLists rows;
  float* weight;  // [E, H]

  EDGEWISE_DEVICE void operator()() const {
    const HeadNode row = p.template head_node<kLanes>(rows.num_lists);
    const EdgesOfGroup edges(rows, row.node);
    const Quad query = Part::load(p.query, p.at(row), p.head_size);
    const int num_steps = edges.num_steps();

    OnlineSoftmax softmax;
    for (int step = 0; step < num_steps; ++step) {
      const float score = score_of(edges.edge(step), row, query);
      softmax.raise(Maximum()(reduce_lanes<kEdgesOfStep>(score, Maximum()), softmax.maximum));
      softmax.sum += softmax.weight(score);
    }
    softmax.sum = reduce_lanes<kEdgesOfStep>(softmax.sum, Sum());
    const float factor = softmax.inverse_sum();

    for (int step = 0; step < num_steps; ++step) {
      const ListedEdge edge = edges.edge(step);
      const float score = score_of(edge, row, query);
      if (edge.exists() && lane_index() % kLanes < kEdgesOfStep) {
        weight[edge.number * p.num_heads + row.head] = softmax.weight(score) * factor;
      }
    }
  }

 private:
  // Returns the score of this lane's edge. A collective of the warp.
  EDGEWISE_DEVICE float score_of(const ListedEdge& edge, const HeadNode& row, const Quad& query) const {
    float product[kEdgesOfStep];
    EDGEWISE_UNROLL
    for (int e = 0; e < kEdgesOfStep; ++e) {
      const NodeIndex source = of_edge<kLanes>(edge.node, e);
      product[e] = Part::dot(query, Part::load(p.key, p.at(source, row.head), p.head_size));
    }
    return p.score(sum_of_edge<kLanes>(product), edge, row.head).value;
  }
};

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
    const EdgesOfGroup edges(rows, row.node);
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
    const EdgesOfGroup edges(sources, source.node);
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

/// Launches Kernel<T, kLanes> for the smallest group of lanes whose parts hold a row of a head, with a group for each
/// list and head.
template <template <typename, int> class Kernel, typename T, class... Arguments>
void launch_groups(const SparseArguments<T>& p, const EdgeLists& lists, device::Stream stream, Arguments... arguments) {
  auto launch_with = [&]<int kLanes>() {
    constexpr int kGroupsOfBlock = kThreadsOfSparseBlock / kLanes;
    const int num_groups = lists.num_lists * p.num_computed_heads;
    launch(Kernel<T, kLanes>{p, lists, arguments...}, (num_groups + kGroupsOfBlock - 1) / kGroupsOfBlock, stream);
  };
  constexpr int kLanes = 32 * sizeof(T) / 16;
  const int size = std::max(p.head_size, p.value_size);
  if (size <= 32) return launch_with.template operator()<kLanes>();
  if (size <= 64) return launch_with.template operator()<2 * kLanes>();
  launch_with.template operator()<4 * kLanes>();
}

inline EdgeLists edges_of_rows(const RelationView& relation) {
  return {relation.row_begin, relation.sources, nullptr, static_cast<int>(relation.num_destinations)};
}

}  // namespace gpu

template <typename T>
void sparse_attention_forward(const AttentionForward<T>& p, const RelationView& relation, device::Stream stream) {
  gpu::launch_groups<gpu::SparseForward>(gpu::SparseArguments<T>(p), gpu::edges_of_rows(relation), stream, p.out,
                                         p.log_normalizer);
}

template <typename T>
void sparse_attention_weights(const AttentionWeights<T>& p, const RelationView& relation, device::Stream stream) {
  gpu::launch_groups<gpu::SparseWeights>(gpu::SparseArguments<T>(p.forward), gpu::edges_of_rows(relation), stream,
                                         p.weight);
}

std::int64_t sparse_backward_workspace(const RelationView& relation, std::int64_t num_heads) {
  return relation.num_destinations * num_heads * static_cast<std::int64_t>(sizeof(gpu::RowStatistics));
}

template <typename T>
void sparse_attention_backward(const AttentionBackward<T>& p, const RelationView& relation,
                               const EdgesBySourceView& edges, void* workspace, device::Stream stream) {
  const AttentionForward<T>& f = p.forward;
  const gpu::SparseArguments<T> arguments(f);
  auto* const statistics = static_cast<gpu::RowStatistics*>(workspace);
  gpu::launch_groups<gpu::SparseBackwardRows>(arguments, gpu::edges_of_rows(relation), stream, f.out, p.grad_out,
                                              f.log_normalizer, statistics, p.grad_query, p.grad_edge_bias);
  const gpu::EdgeLists sources = {edges.begin, edges.destination, edges.edge, static_cast<int>(relation.num_sources)};
  gpu::launch_groups<gpu::SparseBackwardSources>(arguments, sources, stream, p.grad_out, statistics, p.grad_key,
                                                 p.grad_value);
}

template void sparse_attention_forward(const AttentionForward<float>&, const RelationView&, device::Stream);
template void sparse_attention_forward(const AttentionForward<BFloat16>&, const RelationView&, device::Stream);
template void sparse_attention_weights(const AttentionWeights<float>&, const RelationView&, device::Stream);
template void sparse_attention_weights(const AttentionWeights<BFloat16>&, const RelationView&, device::Stream);
template void sparse_attention_backward(const AttentionBackward<float>&, const RelationView&, const EdgesBySourceView&,
                                        void*, device::Stream);
template void sparse_attention_backward(const AttentionBackward<BFloat16>&, const RelationView&,
                                        const EdgesBySourceView&, void*, device::Stream);

}  // namespace edgewise::kernels
