// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/attention/sparse_rows_cuda.h"

namespace edgewise::kernels::gpu {

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
    const EdgeList edges(rows, row.node);
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

}  // namespace edgewise::kernels::gpu
