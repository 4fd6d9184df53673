// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/message/edge_products.h"

#include <array>

#include "edgewise/kernels/message/edge_sum.h"

namespace edgewise::kernels {
namespace {

using RowSizes = std::array<std::int64_t, 2>;

/// Adds weight[e] * rows[node at the other end of e].
template <typename T>
void sum_weighted_rows(const EdgeShape& shape, const EdgeRows& edges, const EdgeOperand<T>& rows, const T* weight_EH,
                       T* out) {
  const RowSizes row = {shape.num_heads, shape.head_size};
  const RowBroadcast broadcast = broadcast_rows(row, RowSizes{shape.num_heads, 1}, row);
  const EdgeOperand<T> weight = {weight_EH, EdgeEnd::kEdge, edges.num_entries()};
  const SumEdges<T> sum = {{EdgeOperator::kMultiply, rows, weight, &broadcast}, out};
  sum_edges(std::span<const SumEdges<T>>(&sum, 1), edges);
}

}  // namespace

template <typename T>
void edge_dot(const EdgeShape& shape, const T* destination_DHK, const T* source_SHK, T* out_EH) {
  const RelationView& relation = shape.edges.relation();
  const RowSizes row = {shape.num_heads, shape.head_size};
  const RowBroadcast broadcast = broadcast_rows(row, row, RowSizes{shape.num_heads, 1});
  const EdgeOperand<T> source = {source_SHK, EdgeEnd::kOther, relation.num_sources};
  const EdgeOperand<T> destination = {destination_DHK, EdgeEnd::kRow, relation.num_destinations};
  write_edges(WriteEdges<T>{{EdgeOperator::kMultiply, source, destination, &broadcast}, out_EH},
              shape.edges.by_destination());
}

template <typename T>
void sum_at_destinations(const EdgeShape& shape, const T* weight_EH, const T* source_SHK, T* out_DHK) {
  sum_weighted_rows(shape, shape.edges.by_destination(),
                    {source_SHK, EdgeEnd::kOther, shape.edges.relation().num_sources}, weight_EH, out_DHK);
}

template <typename T>
void sum_at_sources(const EdgeShape& shape, const T* weight_EH, const T* destination_DHK, T* out_SHK) {
  sum_weighted_rows(shape, shape.edges.by_source(),
                    {destination_DHK, EdgeEnd::kOther, shape.edges.relation().num_destinations}, weight_EH, out_SHK);
}

template void edge_dot(const EdgeShape&, const float*, const float*, float*);
template void edge_dot(const EdgeShape&, const double*, const double*, double*);
template void sum_at_destinations(const EdgeShape&, const float*, const float*, float*);
template void sum_at_destinations(const EdgeShape&, const double*, const double*, double*);
template void sum_at_sources(const EdgeShape&, const float*, const float*, float*);
template void sum_at_sources(const EdgeShape&, const double*, const double*, double*);

}  // namespace edgewise::kernels
