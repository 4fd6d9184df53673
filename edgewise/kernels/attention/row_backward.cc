// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/attention/parallel_rows.h"
#include "edgewise/kernels/attention/row_attention.h"
#include "edgewise/kernels/attention/row_task.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "edgewise/kernels/attention/row_backward.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "edgewise/kernels/attention/row_loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace {

/// One number per edge of a row, before and after differentiate_softmax().
struct RowGradients {
  float* weight;  // before: weights; after: weights times dropout factors
  float* slope;   // before: derivatives of scores by <query, key>; after: gradients of <query, key>. Or null
  float* grad;    // before: <gradient of out, value>; after: gradients of scores
};

/// Notation: w = weights, m = dropout factors, g[e] = <gradient of out, value of e>. The gradient of score e is
/// w[e] * (m[e] * g[e] - sum over the row of w * m * g / sum over the row of w). The sum of w differs from 1 by the
/// rounding error of the row's normalizer, which is large for large scores.
HWY_INLINE void differentiate_softmax(const RowGradients& row, const float* factor, std::int64_t count) {
  const FloatTag d;
  if (factor != nullptr) multiply_in_place(row.grad, factor, count);
  std::fill(row.grad + count, row.grad + padded_size(count), 0.0f);
  auto sum = hn::Zero(d);
  auto total = hn::Zero(d);
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const auto weight = hn::LoadU(d, row.weight + i);
    sum = hn::MulAdd(weight, hn::LoadU(d, row.grad + i), sum);
    total = hn::Add(total, weight);
  }
  const auto total_weight = hn::SumOfLanes(d, total);
  const auto is_zero = hn::Eq(total_weight, hn::Zero(d));
  const auto mean = hn::IfThenZeroElse(is_zero, hn::Div(hn::SumOfLanes(d, sum), total_weight));
  for (std::int64_t i = 0; i < count; i += kLanes) {
    const auto grad = hn::Mul(hn::LoadU(d, row.weight + i), hn::Sub(hn::LoadU(d, row.grad + i), mean));
    hn::StoreU(grad, d, row.grad + i);
    if (row.slope != nullptr) hn::StoreU(hn::Mul(grad, hn::LoadU(d, row.slope + i)), d, row.slope + i);
  }
  if (factor != nullptr) multiply_in_place(row.weight, factor, count);
}

void differentiate_rows(const RowDestinationTask& p, std::int64_t piece, std::int64_t row_begin, std::int64_t row_end) {
  const RowTable& table = p.keys_and_values;
  Scratch::of_this_thread().reset();
  EdgeRow row(p);
  float* grad_out = EdgeRow::take_buffer(table.second_size);
  float* grad_query = EdgeRow::take_buffer(table.first_size);
  float* slope = row.take_edge_buffer();
  float* grad = row.take_edge_buffer();
  for (std::int64_t r = row_begin; r < row_end; ++r) {
    row.move_to(r);
    load_row(p.grad_out, r, grad_out);
    const RowGradients gradients = {row.compute_scores(slope), p.score == nullptr ? slope : nullptr, grad};
    exponentiate(gradients.weight, row.count(), p.log_normalizer[r * p.num_heads]);
    dot_rows(grad_out, table.second_size, row.values(), grad);
    row.add_edge_dots(p.edge_value, grad_out, grad);
    differentiate_softmax(gradients, row.draw_dropout_factors(), row.count());
    if (p.score != nullptr) row.differentiate_scores(grad, *p.score_gradients, piece, slope);

    EdgeCoefficients* coefficients = p.coefficients + row.first_edge();
    for (std::int64_t i = 0; i < row.count(); ++i) coefficients[i] = {gradients.weight[i], slope[i]};
    if (p.grad_edge_bias != nullptr) {
      float* to = p.grad_edge_bias + row.first_edge() * p.num_heads;
      for (std::int64_t i = 0; i < row.count(); ++i) to[i * p.num_heads] = grad[i];
    }
    sum_rows(slope, row.keys(), table.first_size, grad_query);
    row.add_edge_sums(p.edge_key, slope, grad_query);
    store_row(grad_query, 1.0f, p.grad_query, r);
    row.store_edge_rows(p.grad_edge_key, slope, row.query());
    row.store_edge_rows(p.grad_edge_value, gradients.weight, grad_out);
  }
}

/// Sums the gradients of the source's numbers in the columns of the score function.
void sum_score_gradients(const RowSourceTask& task, std::int64_t source) {
  const EdgeRows& edges = task.edges;
  const std::vector<float*>& of_sources = task.score_gradients->of_sources;
  for (std::size_t column = 0; column < of_sources.size(); ++column) {
    if (of_sources[column] == nullptr) continue;
    float sum = 0.0f;
    for (EdgeIndex i = edges.row_begin[source]; i < edges.row_begin[source + 1]; ++i)
      sum += of_sources[column][edges.edges[i]];
    const ScoreColumn<float>& c = task.score->columns[column];
    c.grad[task.head * c.size + source] = sum;
  }
}

/// Writes the sum of a source, or adds it to the sums of the heads before, whose last one writes them. `sum` has `size`
/// floats, which are those of group_sums from column `column` on.
HWY_INLINE void store_source(const RowSourceTask& task, std::int64_t source, std::int64_t column, std::int64_t size,
                             float* sum) {
  const HeadRows<Elements>& rows = column == 0 ? task.grad_key : task.grad_value;
  if (task.group_sums == nullptr) return store_row(sum, 1.0f, rows, source);
  const FloatTag d;
  float* total = task.group_sums + source * task.queries_and_grad_outs.stride() + column;
  for (std::int64_t i = 0; i < size; i += kLanes) {
    const auto part = hn::LoadU(d, sum + i);
    hn::StoreU(task.begins_group ? part : hn::Add(hn::LoadU(d, total + i), part), d, total + i);
  }
  if (task.ends_group) store_row(total, 1.0f, rows, source);
}

void differentiate_sources(const RowSourceTask& task, std::int64_t source_begin, std::int64_t source_end) {
  const EdgeRows& edges = task.edges;
  const RowTable& table = task.queries_and_grad_outs;
  EdgeIndex max_edges = 0;
  for (std::int64_t source = source_begin; source < source_end; ++source) {
    max_edges = std::max(max_edges, edges.row_begin[source + 1] - edges.row_begin[source]);
  }
  Scratch::of_this_thread().reset();
  float* value_factor = EdgeRow::take_buffer(max_edges);
  float* key_factor = EdgeRow::take_buffer(max_edges);
  float* sum = EdgeRow::take_buffer(std::max(table.first_size, table.second_size));
  for (std::int64_t source = source_begin; source < source_end; ++source) {
    const EdgeIndex begin = edges.row_begin[source];
    const std::int64_t count = edges.row_begin[source + 1] - begin;
    for (std::int64_t i = 0; i < count; ++i) {
      const EdgeCoefficients& coefficients = task.coefficients[edges.edges[begin + i]];
      value_factor[i] = coefficients.value;
      key_factor[i] = coefficients.key;
    }
    const NodeIndex* destination = edges.nodes + begin;
    sum_rows(key_factor, {table.data, table.stride(), destination, count}, table.first_size, sum);
    store_source(task, source, 0, table.first_size, sum);
    sum_rows(value_factor, {table.data + table.first_size, table.stride(), destination, count}, table.second_size, sum);
    store_source(task, source, table.first_size, table.second_size, sum);
    if (task.score != nullptr) sum_score_gradients(task, source);
  }
}

}  // namespace
}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgewise::kernels::cpu {

HWY_EXPORT(differentiate_rows);
HWY_EXPORT(differentiate_sources);

/// The sums of gradients of a score function over one head after the other, and the pieces of rows that share sums.
class RowScoreBackward {
 public:
  RowScoreBackward(const ScoreInputs<float>* score, const RelationView& relation, HeadRange heads)
      : score_(score), relation_(relation), shared_(score, relation.num_edges(), /*num_heads=*/1) {
    if (score == nullptr) return;
    score->clear_gradients(heads.begin, heads.end);
    gradients_.of_sources.assign(score->columns.size(), nullptr);
    buffers_ = std::vector<AlignedBuffer>(score->columns.size());
    for (std::size_t column = 0; column < score->columns.size(); ++column) {
      const ScoreColumn<float>& c = score->columns[column];
      const bool is_computed = c.grad != nullptr && score->program->computes_gradient_of(column);
      if (c.domain != ScoreDomain::kSources || !is_computed) continue;
      gradients_.of_sources[column] = buffers_[column].elements<float>(relation.num_edges());
    }
    gradients_.shared = &shared_;
    if (!shared_.is_empty()) cut_pieces();
  }

  const RowScoreGradients* gradients() const { return score_ == nullptr ? nullptr : &gradients_; }

  /// Calls fn(piece, row_begin, row_end) in parallel on disjoint ranges of rows that together cover all rows. Then adds
  /// up the sums of all pieces for `head`.
  template <class Fn>
  void for_pieces(std::int64_t head, Fn fn) {
    if (shared_.is_empty()) {
      parallel_row_ranges(relation_, [&](std::int64_t row_begin, std::int64_t row_end) { fn(0, row_begin, row_end); });
      return;
    }
    shared_.clear();
    parallel_for(std::ssize(piece_begin_) - 1, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t piece = begin; piece < end; ++piece) fn(piece, piece_begin_[piece], piece_begin_[piece + 1]);
    });
    shared_.finish(/*head=*/0, head);
  }

 private:
  void cut_pieces() {
    const std::int64_t rows = relation_.num_destinations;
    const std::int64_t cost = cost_before(relation_, rows) / shared_.max_pieces() + 1;
    piece_begin_ = {0};
    for (std::int64_t row = 0; row < rows; ++row) {
      if (cost_before(relation_, row) - cost_before(relation_, piece_begin_.back()) >= cost)
        piece_begin_.push_back(row);
    }
    piece_begin_.push_back(rows);
    shared_.allocate(std::ssize(piece_begin_) - 1);
  }

  const ScoreInputs<float>* score_;
  const RelationView& relation_;
  SharedGradients<float> shared_;
  RowScoreGradients gradients_;
  std::vector<AlignedBuffer> buffers_;  // by column
  std::vector<std::int64_t> piece_begin_;
};

template <typename T>
void row_attention_backward(const AttentionBackward<T>& p, const EdgeOrders& orders) {
  const AttentionForward<T>& f = p.forward;
  const EdgeRows edges = orders.by_source();
  const RelationView& relation = orders.relation();
  AlignedBuffer buffer;
  auto* coefficients = buffer.elements<EdgeCoefficients>(relation.num_edges());
  RowScoreBackward score(f.score, relation, f.heads());
  PackedRows packed_sources(relation.num_sources, f.head_size, f.value_size);
  PackedRows packed_destinations(relation.num_destinations, f.head_size, f.value_size);
  AlignedBuffer group_buffer;
  float* group_sums = nullptr;
  if (f.group_size() > 1) {
    group_sums = group_buffer.elements<float>(relation.num_sources * packed_destinations.table().stride());
  }
  for (std::int64_t head = f.heads().begin; head < f.heads().end; ++head) {
    auto input = [&](auto* data, std::int64_t size) { return HeadRows<ConstElements>{data, f.num_heads, head, size}; };
    auto output = [&](T* data, std::int64_t size) { return HeadRows<Elements>{data, f.num_heads, head, size}; };
    auto source_input = [&](const T* data, std::int64_t size) {
      return HeadRows<ConstElements>{data, f.key_heads(), f.key_head(head), size};
    };
    auto source_output = [&](T* data, std::int64_t size) {
      return HeadRows<Elements>{data, f.key_heads(), f.key_head(head), size};
    };

    packed_sources.pack(source_input(f.key, f.head_size), source_input(f.value, f.value_size));
    const RowDestinationTask rows = {make_row_task(f, orders, packed_sources.table(), head),
                                     input(p.grad_out, f.value_size),
                                     output(p.grad_query, f.head_size),
                                     from_head(p.grad_edge_bias, head),
                                     coefficients,
                                     score.gradients(),
                                     output(p.grad_edge_key, f.head_size),
                                     output(p.grad_edge_value, f.value_size)};
    score.for_pieces(head, [&](std::int64_t piece, std::int64_t row_begin, std::int64_t row_end) {
      HWY_DYNAMIC_DISPATCH(differentiate_rows)(rows, piece, row_begin, row_end);
    });

    packed_destinations.pack(input(f.query, f.head_size), input(p.grad_out, f.value_size));
    const RowSourceTask sources = {.edges = edges,
                                   .queries_and_grad_outs = packed_destinations.table(),
                                   .coefficients = coefficients,
                                   .grad_key = source_output(p.grad_key, f.head_size),
                                   .grad_value = source_output(p.grad_value, f.value_size),
                                   .head = head,
                                   .group_sums = group_sums,
                                   .begins_group = head % f.group_size() == 0,
                                   .ends_group = (head + 1) % f.group_size() == 0,
                                   .score = f.score,
                                   .score_gradients = score.gradients()};
    parallel_ranges(
        relation.num_sources, [&](std::int64_t source) { return edges.row_begin[source] + source; },
        [&](std::int64_t source_begin, std::int64_t source_end) {
          HWY_DYNAMIC_DISPATCH(differentiate_sources)(sources, source_begin, source_end);
        });
  }
}

template void row_attention_backward(const AttentionBackward<float>&, const EdgeOrders&);
template void row_attention_backward(const AttentionBackward<BFloat16>&, const EdgeOrders&);

}  // namespace edgewise::kernels::cpu
#endif  // HWY_ONCE
