// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/attention/edge_products.h"

#include <algorithm>

#include "edgewise/kernels/attention/parallel_rows.h"
#include "edgewise/kernels/reference_loops.h"

namespace edgewise::kernels {
namespace {

using reference::add_scaled;
using reference::dot;
using reference::softmax_in_place;

/// Calls fn(edge, destination, source), indices into [E, H], [D, H] and [S, H], for one head of each edge of a row.
template <class Fn>
void for_edges(const EdgeShape& shape, std::int64_t row, std::int64_t head, Fn fn) {
  const RelationView& relation = shape.relation;
  for (EdgeIndex edge = relation.row_begin[row]; edge < relation.row_begin[row + 1]; ++edge) {
    fn(edge * shape.num_heads + head, row * shape.num_heads + head,
       relation.source(row, edge) * shape.num_heads + head);
  }
}

}  // namespace

template <typename T>
void edge_dot(const EdgeShape& shape, const T* destination_DHK, const T* source_SHK, T* out_EH) {
  const std::int64_t size = shape.head_size;
  parallel_rows(shape.relation, {0, shape.num_heads}, [&](std::int64_t row, std::int64_t head) {
    for_edges(shape, row, head, [&](std::int64_t edge, std::int64_t destination, std::int64_t source) {
      out_EH[edge] = dot(destination_DHK + destination * size, source_SHK + source * size, size);
    });
  });
}

template <typename T>
void sum_at_destinations(const EdgeShape& shape, const T* weight_EH, const T* source_SHK, T* out_DHK) {
  const std::int64_t size = shape.head_size;
  parallel_rows(shape.relation, {0, shape.num_heads}, [&](std::int64_t row, std::int64_t head) {
    std::fill_n(out_DHK + (row * shape.num_heads + head) * size, size, T{0});
    for_edges(shape, row, head, [&](std::int64_t edge, std::int64_t destination, std::int64_t source) {
      add_scaled(out_DHK + destination * size, weight_EH[edge], source_SHK + source * size, size);
    });
  });
}

template <typename T>
void sum_at_sources(const EdgeShape& shape, const T* weight_EH, const T* destination_DHK, T* out_SHK) {
  const std::int64_t size = shape.head_size;
  std::fill_n(out_SHK, shape.relation.num_sources * shape.num_heads * size, T{0});
  parallel_runs(shape.relation, {0, shape.num_heads},
                [&](std::int64_t row_begin, std::int64_t row_end, std::int64_t head) {
                  for (std::int64_t row = row_begin; row < row_end; ++row) {
                    for_edges(shape, row, head, [&](std::int64_t edge, std::int64_t destination, std::int64_t source) {
                      add_scaled(out_SHK + source * size, weight_EH[edge], destination_DHK + destination * size, size);
                    });
                  }
                });
}

template <typename T>
void edge_softmax(const RelationView& relation, std::int64_t num_heads, const T* score, T* weight) {
  std::copy_n(score, relation.num_edges() * num_heads, weight);
  parallel_rows(relation, {0, num_heads}, [&](std::int64_t row, std::int64_t head) {
    const EdgeIndex begin = relation.row_begin[row];
    softmax_in_place(weight + begin * num_heads + head, num_heads, relation.row_begin[row + 1] - begin);
  });
}

template <typename T>
void edge_softmax_backward(const RelationView& relation, std::int64_t num_heads, const T* weight, const T* grad_weight,
                           T* grad_score) {
  parallel_rows(relation, {0, num_heads}, [&](std::int64_t row, std::int64_t head) {
    const std::int64_t begin = relation.row_begin[row] * num_heads + head;
    const std::int64_t end = relation.row_begin[row + 1] * num_heads + head;
    T mean_gradient = 0;
    for (std::int64_t edge = begin; edge < end; edge += num_heads) mean_gradient += weight[edge] * grad_weight[edge];
    for (std::int64_t edge = begin; edge < end; edge += num_heads) {
      grad_score[edge] = weight[edge] * (grad_weight[edge] - mean_gradient);
    }
  });
}

template void edge_dot(const EdgeShape&, const float*, const float*, float*);
template void edge_dot(const EdgeShape&, const double*, const double*, double*);
template void sum_at_destinations(const EdgeShape&, const float*, const float*, float*);
template void sum_at_destinations(const EdgeShape&, const double*, const double*, double*);
template void sum_at_sources(const EdgeShape&, const float*, const float*, float*);
template void sum_at_sources(const EdgeShape&, const double*, const double*, double*);
template void edge_softmax(const RelationView&, std::int64_t, const float*, float*);
template void edge_softmax(const RelationView&, std::int64_t, const double*, double*);
template void edge_softmax_backward(const RelationView&, std::int64_t, const float*, const float*, float*);
template void edge_softmax_backward(const RelationView&, std::int64_t, const double*, const double*, double*);

}  // namespace edgewise::kernels
