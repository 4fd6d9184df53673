// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/attention/parallel_rows.h"
#include "edgewise/kernels/attention/row_attention.h"
#include "edgewise/kernels/attention/row_task.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "edgewise/kernels/attention/row_forward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "edgewise/kernels/attention/row_loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace {

void attend_rows(const RowTask& p, const HeadRows<Elements>& out, std::int64_t row_begin, std::int64_t row_end) {
  Scratch::of_this_thread().reset();
  EdgeRow row(p);
  const std::int64_t value_size = p.keys_and_values.second_size;
  float* sum = EdgeRow::take_buffer(value_size);
  for (std::int64_t r = row_begin; r < row_end; ++r) {
    row.move_to(r);
    float* weight = row.compute_scores(/*slope=*/nullptr);
    const SoftmaxNormalizer softmax = exponentiate(weight, row.count());
    if (const float* factor = row.draw_dropout_factors()) multiply_in_place(weight, factor, row.count());
    sum_rows(weight, row.values(), value_size, sum);
    row.add_edge_sums(p.edge_value, weight, sum);
    store_row(sum, softmax.normalizer, out, r);
    p.log_normalizer[r * p.num_heads] = softmax.log_normalizer;
  }
}

/// Writes the weights of rows to weights of edges [E, H] starting at the head of p.
void compute_weights(const RowTask& p, float* weight_of_edge, std::int64_t row_begin, std::int64_t row_end) {
  Scratch::of_this_thread().reset();
  EdgeRow row(p);
  for (std::int64_t r = row_begin; r < row_end; ++r) {
    row.move_to(r);
    float* weight = row.compute_scores(/*slope=*/nullptr);
    const float normalizer = exponentiate(weight, row.count()).normalizer;
    float* to = weight_of_edge + row.first_edge() * p.num_heads;
    for (std::int64_t i = 0; i < row.count(); ++i) to[i * p.num_heads] = normalizer * weight[i];
  }
}

}  // namespace
}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgewise::kernels::cpu {

HWY_EXPORT(attend_rows);
HWY_EXPORT(compute_weights);

template <typename T>
void row_attention_forward(const AttentionForward<T>& p, const EdgeOrders& edges) {
  PackedRows packed(edges.relation().num_sources, p.head_size, p.value_size);
  for (std::int64_t head = p.heads().begin; head < p.heads().end; ++head) {
    if (head == p.heads().begin || head % p.group_size() == 0) {
      packed.pack({p.key, p.key_heads(), p.key_head(head), p.head_size},
                  {p.value, p.key_heads(), p.key_head(head), p.value_size});
    }
    const RowTask task = make_row_task(p, edges, packed.table(), head);
    const HeadRows<Elements> out = {p.out, p.num_heads, head, p.value_size};
    parallel_row_ranges(edges.relation(), [&](std::int64_t row_begin, std::int64_t row_end) {
      HWY_DYNAMIC_DISPATCH(attend_rows)(task, out, row_begin, row_end);
    });
  }
}

template <typename T>
void row_attention_weights(const AttentionWeights<T>& p, const EdgeOrders& edges) {
  const AttentionForward<T>& f = p.forward;
  const HeadRows<ConstElements> no_values = {f.key, 0, 0, 0};
  PackedRows packed(edges.relation().num_sources, f.head_size, no_values.size);
  for (std::int64_t head = f.heads().begin; head < f.heads().end; ++head) {
    packed.pack({f.key, f.key_heads(), f.key_head(head), f.head_size}, no_values);
    const RowTask task = make_row_task(f, edges, packed.table(), head);
    parallel_row_ranges(edges.relation(), [&](std::int64_t row_begin, std::int64_t row_end) {
      HWY_DYNAMIC_DISPATCH(compute_weights)(task, p.weight + head, row_begin, row_end);
    });
  }
}

template void row_attention_forward(const AttentionForward<float>&, const EdgeOrders&);
template void row_attention_forward(const AttentionForward<BFloat16>&, const EdgeOrders&);
template void row_attention_weights(const AttentionWeights<float>&, const EdgeOrders&);
template void row_attention_weights(const AttentionWeights<BFloat16>&, const EdgeOrders&);

}  // namespace edgewise::kernels::cpu
#endif  // HWY_ONCE
