// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/attention/row_attention.h"
#include "edgewise/kernels/attention/row_table.h"
#include "edgewise/kernels/attention/work.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "edgewise/kernels/attention/row_backward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "edgewise/kernels/attention/row_edges-inl.h"
#include "edgewise/kernels/attention/row_loops-inl.h"
#include "edgewise/kernels/attention/row_softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace {

// What becomes of the numbers of a row, each of which begins as what its comment says first.
struct RowGradients {
  float* weight;  // weights; then weights after dropout
  float* slope;   // slopes of scores; then gradients of products of query and key
  float* grad;    // gradients of weights after dropout; then gradients of scores
};

// With w the weights, m the factors of dropout and g[e] = <gradient of out, value of e>, the gradient of score e is
// w[e] * (m[e] * g[e] - sum over the row of w * m * g).
HWY_INLINE void differentiate_softmax(const RowGradients& row, const float* factor, std::int64_t count) {
  const FloatTag d;
  if (factor != nullptr) multiply(row.grad, factor, count);
  std::fill(row.grad + count, row.grad + in_whole_vectors(count), 0.0f);
  auto sum = hn::Zero(d);
  for (std::int64_t i = 0; i < count; i += kRowLanes) {
    sum = hn::MulAdd(hn::LoadU(d, row.weight + i), hn::LoadU(d, row.grad + i), sum);
  }
  const auto mean = hn::SumOfLanes(d, sum);
  for (std::int64_t i = 0; i < count; i += kRowLanes) {
    const auto grad = hn::Mul(hn::LoadU(d, row.weight + i), hn::Sub(hn::LoadU(d, row.grad + i), mean));
    hn::StoreU(grad, d, row.grad + i);
    hn::StoreU(hn::Mul(grad, hn::LoadU(d, row.slope + i)), d, row.slope + i);
  }
  if (factor != nullptr) multiply(row.weight, factor, count);
}

void differentiate_rows(const RowDestinationTask& task, std::int64_t row_begin, std::int64_t row_end) {
  const RowTask& p = task.rows;
  const RowTable& table = p.keys_and_values;
  Scratch::of_this_thread().reset();
  RowOfEdges row(p);
  float* grad_out = RowOfEdges::room(table.second_size);
  float* grad_query = RowOfEdges::room(table.first_size);
  float* slope = row.room_of_edges();
  float* grad = row.room_of_edges();
  for (std::int64_t r = row_begin; r < row_end; ++r) {
    row.go_to(r);
    load_row(task.grad_out, r, grad_out);
    const RowGradients numbers = {row.scores(slope), slope, grad};
    exponentiate(numbers.weight, row.count(), p.log_normalizer[r * p.num_heads]);
    dot_rows(grad_out, table.second_size, row.values(), grad);
    differentiate_softmax(numbers, row.factors(), row.count());

    EdgeCoefficients* coefficients = task.coefficients + row.first_edge();
    for (std::int64_t i = 0; i < row.count(); ++i) coefficients[i] = {numbers.weight[i], slope[i]};
    if (task.grad_edge_bias != nullptr) {
      float* to = task.grad_edge_bias + row.first_edge() * p.num_heads;
      for (std::int64_t i = 0; i < row.count(); ++i) to[i * p.num_heads] = grad[i];
    }
    sum_rows(slope, row.keys(), table.first_size, grad_query);
    store_row(grad_query, 1.0f, task.grad_query, r);
  }
}

void differentiate_sources(const RowSourceTask& task, std::int64_t source_begin, std::int64_t source_end) {
  const EdgesBySource& edges = task.edges;
  const RowTable& table = task.queries_and_grad_outs;
  EdgeIndex most_edges = 0;
  for (std::int64_t source = source_begin; source < source_end; ++source) {
    most_edges = std::max(most_edges, edges.begin[source + 1] - edges.begin[source]);
  }
  Scratch::of_this_thread().reset();
  float* of_value = RowOfEdges::room(most_edges);
  float* of_key = RowOfEdges::room(most_edges);
  float* sum = RowOfEdges::room(std::max(table.first_size, table.second_size));
  for (std::int64_t source = source_begin; source < source_end; ++source) {
    const EdgeIndex begin = edges.begin[source];
    const std::int64_t count = edges.begin[source + 1] - begin;
    for (std::int64_t i = 0; i < count; ++i) {
      const EdgeCoefficients& coefficients = task.coefficients[edges.edge[begin + i]];
      of_value[i] = coefficients.value;
      of_key[i] = coefficients.key;
    }
    const NodeIndex* destination = edges.destination.data() + begin;
    sum_rows(of_key, {table.data, table.stride(), destination, count}, table.first_size, sum);
    store_row(sum, 1.0f, task.grad_key, source);
    sum_rows(of_value, {table.data + table.first_size, table.stride(), destination, count}, table.second_size, sum);
    store_row(sum, 1.0f, task.grad_value, source);
  }
}

}  // namespace
}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgewise::kernels::cpu {

HWY_EXPORT(differentiate_rows);
HWY_EXPORT(differentiate_sources);

template <typename T>
void row_attention_backward(const AttentionBackward<T>& p, const RowPlan& plan) {
  const AttentionForward<T>& f = p.forward;
  const EdgesBySource& edges = plan.by_source();
  AlignedBytes room;
  auto* coefficients = room.elements<EdgeCoefficients>(f.relation.num_edges());
  PackedRows of_sources(f.relation.num_sources, f.head_size, f.value_size);
  PackedRows of_destinations(f.relation.num_destinations, f.head_size, f.value_size);
  for (std::int64_t head = f.heads().begin; head < f.heads().end; ++head) {
    auto keys = [&](auto* data) { return HeadRows<ConstElements>{data, f.num_heads, head, f.head_size}; };
    auto values = [&](auto* data) { return HeadRows<ConstElements>{data, f.num_heads, head, f.value_size}; };
    auto grad_keys = [&](T* data) { return HeadRows<Elements>{data, f.num_heads, head, f.head_size}; };
    auto grad_values = [&](T* data) { return HeadRows<Elements>{data, f.num_heads, head, f.value_size}; };

    of_sources.pack(keys(f.key), values(f.value));
    const RowDestinationTask rows = {row_task(f, plan, of_sources.table(), head), values(p.grad_out),
                                     grad_keys(p.grad_query), from_head(p.grad_edge_bias, head), coefficients};
    parallel_row_ranges(f.relation, [&](std::int64_t row_begin, std::int64_t row_end) {
      HWY_DYNAMIC_DISPATCH(differentiate_rows)(rows, row_begin, row_end);
    });

    of_destinations.pack(keys(f.query), values(p.grad_out));
    const RowSourceTask sources = {edges, of_destinations.table(), coefficients, grad_keys(p.grad_key),
                                   grad_values(p.grad_value)};
    parallel_ranges(
        f.relation.num_sources, [&](std::int64_t source) { return edges.begin[source] + source; },
        [&](std::int64_t source_begin, std::int64_t source_end) {
          HWY_DYNAMIC_DISPATCH(differentiate_sources)(sources, source_begin, source_end);
        });
  }
}

template void row_attention_backward(const AttentionBackward<float>&, const RowPlan&);
template void row_attention_backward(const AttentionBackward<BFloat16>&, const RowPlan&);

}  // namespace edgewise::kernels::cpu
#endif  // HWY_ONCE
