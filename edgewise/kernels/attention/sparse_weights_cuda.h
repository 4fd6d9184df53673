// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/attention/sparse_rows_cuda.h"

namespace edgewise::kernels::gpu {

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
    const EdgeList edges(rows, row.node);
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

}  // namespace edgewise::kernels::gpu
