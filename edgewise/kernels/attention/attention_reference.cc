// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <vector>

#include "edgewise/base/threads.h"
#include "edgewise/kernels/attention/attention.h"
#include "edgewise/kernels/attention/parallel_rows.h"
#include "edgewise/kernels/reference_loops.h"
#include "edgewise/kernels/score/score_numbers.h"

namespace edgewise::kernels::reference {
namespace {

/// The two nodes of an edge for one head, as row numbers of query and out [D * H, …] and of key and value [S * G, …].
struct EdgeEnds {
  std::int64_t destination;
  std::int64_t source;
};

template <typename T>
EdgeEnds edge_ends(const AttentionForward<T>& p, const RelationView& relation, std::int64_t row, EdgeIndex edge,
                   std::int64_t head) {
  return {row * p.num_heads + head, relation.source(row, edge) * p.key_heads() + p.key_head(head)};
}

/// Returns <query, key> of an edge.
template <typename T>
T edge_product(const AttentionForward<T>& p, EdgeEnds ends, EdgeIndex edge, std::int64_t head) {
  const T* query_K = p.query + ends.destination * p.head_size;
  const T product = dot(query_K, p.key + ends.source * p.head_size, p.head_size);
  if (p.edge_key == nullptr) return product;
  return product + dot(query_K, p.edge_key + (edge * p.num_heads + head) * p.head_size, p.head_size);
}

/// A score function for one edge and head. Adds to the gradients of columns, and sets those of edges.
template <typename T>
class ReferenceScore {
 public:
  ReferenceScore(const AttentionForward<T>& p, EdgeEnds ends, EdgeIndex edge, std::int64_t head)
      : score_(*p.score),
        num_heads_(p.num_heads),
        head_(head),
        is_first_head_(head == p.heads().begin),
        edge_(edge),
        source_(ends.source / p.key_heads()),
        destination_(ends.destination / p.num_heads),
        product_(p.scale * edge_product(p, ends, edge, head)) {}

  T compute() {
    const ScoreList& list = score_.program->forward;
    std::vector<T> registers(list.num_registers);
    run_score_list(list, registers.data(), *this);
    return registers[list.result];
  }

  // Returns the gradient of the scaled product.
  T differentiate(T grad_score) {
    grad_score_ = grad_score;
    const ScoreList& list = score_.program->backward;
    std::vector<T> registers(list.num_registers);
    run_score_list(list, registers.data(), *this);
    return grad_product_;
  }

  T product() const { return product_; }
  T gradient() const { return grad_score_; }
  T column(std::int32_t column) const {
    const ScoreColumn<T>& c = score_.columns[column];
    return c.of_head(head_)[index_in(c) * c.stride];
  }
  T lookup(std::int32_t column, std::int64_t index) const { return score_.columns[column].of_head(head_)[index]; }
  std::int64_t table_size(std::int32_t column) const { return score_.columns[column].size; }

  void store(std::int32_t column, T gradient) {
    if (column == kProductColumn) {
      grad_product_ = gradient;
      return;
    }
    const ScoreColumn<T>& c = score_.columns[column];
    if (c.grad == nullptr) return;
    if (c.domain == ScoreDomain::kEdges && c.head_stride == 0) {
      c.grad[edge_] = is_first_head_ ? gradient : c.grad[edge_] + gradient;
    } else if (c.domain == ScoreDomain::kEdges) {
      c.grad[edge_ * num_heads_ + head_] = gradient;
    } else {
      c.grad[head_ * c.size + index_in(c)] += gradient;
    }
  }
  void store_looked_up(std::int32_t column, std::int64_t index, T gradient) {
    const ScoreColumn<T>& c = score_.columns[column];
    if (c.grad != nullptr) c.grad[head_ * c.size + index] += gradient;
  }

 private:
  std::int64_t index_in(const ScoreColumn<T>& c) const {
    switch (c.domain) {
      case ScoreDomain::kEdges:
        return edge_;
      case ScoreDomain::kSources:
        return source_;
      case ScoreDomain::kDestinations:
        return destination_;
      default:
        return source_ - destination_ - c.first;
    }
  }

  const ScoreInputs<T>& score_;
  std::int64_t num_heads_, head_;
  bool is_first_head_;
  EdgeIndex edge_;
  std::int64_t source_, destination_;
  T product_;
  T grad_score_ = 0;
  T grad_product_ = 0;
};

template <typename T>
struct EdgeScore {
  T value;
  bool is_clamped;  // the gradients of query and key are then zero
};

template <typename T>
EdgeScore<T> edge_score(const AttentionForward<T>& p, EdgeEnds ends, EdgeIndex edge, std::int64_t head) {
  if (p.score != nullptr) return {ReferenceScore<T>(p, ends, edge, head).compute(), false};
  const T scaled = p.scale * edge_product(p, ends, edge, head);
  const T bias = p.edge_bias == nullptr ? T{0} : p.edge_bias[edge * p.num_heads + head];
  return {std::clamp(scaled, -p.clamp, p.clamp) + bias, std::abs(scaled) > p.clamp};
}

/// Computes the output of a row by online softmax: a new maximum rescales the sums so far, so exp() never overflows.
template <typename T>
void attend_row(const AttentionForward<T>& p, const RelationView& relation, std::int64_t row, std::int64_t head) {
  const std::int64_t destination = row * p.num_heads + head;
  T* out_V = p.out + destination * p.value_size;
  std::fill_n(out_V, p.value_size, T{0});
  EdgeDropout<T> dropout(p.dropout, head, p.num_heads);

  T maximum = -kInfinity<T>;
  T total = 0;
  for (EdgeIndex edge = relation.row_begin[row]; edge < relation.row_begin[row + 1]; ++edge) {
    const EdgeEnds ends = edge_ends(p, relation, row, edge, head);
    const T score = edge_score(p, ends, edge, head).value;
    if (score > maximum) {
      const T rescale = exp_difference(maximum, score);
      scale_in_place(out_V, rescale, p.value_size);
      total *= rescale;
      maximum = score;
    }
    const T weight = exp_difference(score, maximum);
    const T factor = weight * dropout.factor(edge);
    add_scaled(out_V, factor, p.value + ends.source * p.value_size, p.value_size);
    if (p.edge_value != nullptr) {
      add_scaled(out_V, factor, p.edge_value + (edge * p.num_heads + head) * p.value_size, p.value_size);
    }
    total += weight;
  }

  p.log_normalizer[destination] = maximum + std::log(total);
  if (total != 0) scale_in_place(out_V, 1 / total, p.value_size);
}

/// Writes factor * from to row `row` of a tensor, unless the tensor is null.
template <typename T>
void set_scaled(T* tensor, std::int64_t row, T factor, const T* from, std::int64_t size) {
  if (tensor == nullptr) return;
  std::transform(from, from + size, tensor + row * size, [factor](T x) { return factor * x; });
}

/// Notation: w = weights, m = dropout factors, g = gradient of out. The gradient of weight e is m[e] * <g, value[s]>,
/// and the gradient of score e is w[e] * (m[e] * <g, value[s]> - sum over the row of w * m * <g, value>). The sum
/// equals <g, out>, so it needs no pass over the edges.
template <typename T>
void differentiate_row(const AttentionBackward<T>& p, const RelationView& relation, std::int64_t row,
                       std::int64_t head) {
  const AttentionForward<T>& f = p.forward;
  const std::int64_t destination = row * f.num_heads + head;
  const T* query_K = f.query + destination * f.head_size;
  const T* grad_out_V = p.grad_out + destination * f.value_size;
  T* grad_query_K = p.grad_query + destination * f.head_size;
  std::fill_n(grad_query_K, f.head_size, T{0});
  const T mean_gradient = dot(grad_out_V, f.out + destination * f.value_size, f.value_size);
  EdgeDropout<T> dropout(f.dropout, head, f.num_heads);

  for (EdgeIndex edge = relation.row_begin[row]; edge < relation.row_begin[row + 1]; ++edge) {
    const EdgeEnds ends = edge_ends(f, relation, row, edge, head);
    const EdgeScore<T> score = edge_score(f, ends, edge, head);
    const T weight = exp_difference(score.value, f.log_normalizer[destination]);
    const T factor = dropout.factor(edge);
    const std::int64_t at_edge = edge * f.num_heads + head;
    T grad_message = dot(grad_out_V, f.value + ends.source * f.value_size, f.value_size);
    if (f.edge_value != nullptr) {
      grad_message += dot(grad_out_V, f.edge_value + at_edge * f.value_size, f.value_size);
    }
    const T grad_score = weight * (factor * grad_message - mean_gradient);

    add_scaled(p.grad_value + ends.source * f.value_size, weight * factor, grad_out_V, f.value_size);
    set_scaled(p.grad_edge_value, at_edge, weight * factor, grad_out_V, f.value_size);
    if (p.grad_edge_bias != nullptr) p.grad_edge_bias[edge * f.num_heads + head] = grad_score;
    if (score.is_clamped) {
      set_scaled(p.grad_edge_key, at_edge, T{0}, query_K, f.head_size);
      continue;
    }
    const T grad_product =
        f.score == nullptr ? grad_score : ReferenceScore<T>(f, ends, edge, head).differentiate(grad_score);
    add_scaled(grad_query_K, f.scale * grad_product, f.key + ends.source * f.head_size, f.head_size);
    add_scaled(p.grad_key + ends.source * f.head_size, f.scale * grad_product, query_K, f.head_size);
    if (f.edge_key != nullptr) {
      add_scaled(grad_query_K, f.scale * grad_product, f.edge_key + at_edge * f.head_size, f.head_size);
    }
    set_scaled(p.grad_edge_key, at_edge, f.scale * grad_product, query_K, f.head_size);
  }
}

/// Differentiates the rows of a head in order, because edges of different rows may add to one number, and heads in
/// order, if they do or share keys and values.
template <typename T>
void differentiate_heads(const AttentionBackward<T>& p, const RelationView& relation) {
  const HeadRange keys = p.forward.key_range();
  const std::int64_t grain = p.forward.score->sums_heads() ? keys.size() : 1;
  parallel_for(keys.size(), grain, [&](std::int64_t begin, std::int64_t end) {
    const HeadRange heads = p.forward.heads_of({keys.begin + begin, keys.begin + end});
    for (std::int64_t head = heads.begin; head < heads.end; ++head) {
      for (std::int64_t row = 0; row < relation.num_destinations; ++row) differentiate_row(p, relation, row, head);
    }
  });
}

template <typename T>
void compute_weights_of_row(const AttentionWeights<T>& p, const RelationView& relation, std::int64_t row,
                            std::int64_t head) {
  const AttentionForward<T>& f = p.forward;
  const EdgeIndex begin = relation.row_begin[row];
  const EdgeIndex end = relation.row_begin[row + 1];
  for (EdgeIndex edge = begin; edge < end; ++edge) {
    const EdgeEnds ends = edge_ends(f, relation, row, edge, head);
    p.weight[edge * f.num_heads + head] = edge_score(f, ends, edge, head).value;
  }
  softmax_in_place(p.weight + begin * f.num_heads + head, f.num_heads, end - begin);
}

void round_to(const std::vector<float>& from, BFloat16* to) {
  std::transform(from.begin(), from.end(), to, [](float x) { return BFloat16(x); });
}

/// The arguments of attention as floats, and the results before rounding: the reference for bf16 computes in float and
/// rounds once, at the end. The results start as copies of the results in p, so that heads that are not computed keep
/// their values.
class FloatAttention {
 public:
  FloatAttention(const AttentionForward<BFloat16>& p, const RelationView& relation)
      : num_rows_(relation.num_destinations * p.num_heads),
        num_sources_(relation.num_sources * p.key_heads()),
        query_(p.query, p.query + num_rows_ * p.head_size),
        key_(p.key, p.key + num_sources_ * p.head_size),
        log_normalizer_(num_rows_) {
    const std::int64_t num_edges = relation.num_edges() * p.num_heads;
    if (p.value != nullptr) value_.assign(p.value, p.value + num_sources_ * p.value_size);
    if (p.edge_key != nullptr) edge_key_.assign(p.edge_key, p.edge_key + num_edges * p.head_size);
    if (p.edge_value != nullptr) edge_value_.assign(p.edge_value, p.edge_value + num_edges * p.value_size);
    if (p.out != nullptr) out_.assign(p.out, p.out + num_rows_ * p.value_size);
    if (p.log_normalizer != nullptr) log_normalizer_.assign(p.log_normalizer, p.log_normalizer + num_rows_);
    forward_ = {.query = query_.data(),
                .key = key_.data(),
                .value = value_.data(),
                .edge_bias = p.edge_bias,
                .out = out_.data(),
                .log_normalizer = log_normalizer_.data(),
                .num_heads = p.num_heads,
                .head_size = p.head_size,
                .value_size = p.value_size,
                .scale = p.scale,
                .clamp = p.clamp,
                .dropout = p.dropout,
                .only_head = p.only_head,
                .score = p.score,
                .edge_key = p.edge_key == nullptr ? nullptr : edge_key_.data(),
                .edge_value = p.edge_value == nullptr ? nullptr : edge_value_.data(),
                .num_key_heads = p.num_key_heads};
  }

  const AttentionForward<float>& forward() const { return forward_; }
  const std::vector<float>& out() const { return out_; }
  const std::vector<float>& log_normalizer() const { return log_normalizer_; }

 private:
  std::int64_t num_rows_;
  std::int64_t num_sources_;
  std::vector<float> query_, key_, value_, edge_key_, edge_value_, out_, log_normalizer_;
  AttentionForward<float> forward_;
};

}  // namespace

template <typename T>
void attention_forward(const AttentionForward<T>& p, const RelationView& relation) {
  parallel_rows(relation, p.heads(), [&](std::int64_t row, std::int64_t head) { attend_row(p, relation, row, head); });
}

template <typename T>
void attention_backward(const AttentionBackward<T>& p, const RelationView& relation) {
  const AttentionForward<T>& f = p.forward;
  clear_heads(p.grad_key, 0, relation.num_sources, f.key_range(), f.key_heads(), f.head_size);
  clear_heads(p.grad_value, 0, relation.num_sources, f.key_range(), f.key_heads(), f.value_size);
  if (f.score != nullptr) {
    f.score->clear_gradients(f.heads().begin, f.heads().end);
    if (f.score->has_shared_gradients() || f.score->sums_heads()) return differentiate_heads(p, relation);
  }
  parallel_runs(relation, f.key_range(), [&](std::int64_t row_begin, std::int64_t row_end, std::int64_t key_head) {
    const HeadRange heads = f.heads_of({key_head, key_head + 1});
    for (std::int64_t head = heads.begin; head < heads.end; ++head) {
      for (std::int64_t row = row_begin; row < row_end; ++row) differentiate_row(p, relation, row, head);
    }
  });
}

template <typename T>
void attention_weights(const AttentionWeights<T>& p, const RelationView& relation) {
  parallel_rows(relation, p.forward.heads(),
                [&](std::int64_t row, std::int64_t head) { compute_weights_of_row(p, relation, row, head); });
}

template void attention_forward(const AttentionForward<float>&, const RelationView&);
template void attention_forward(const AttentionForward<double>&, const RelationView&);
template void attention_backward(const AttentionBackward<float>&, const RelationView&);
template void attention_backward(const AttentionBackward<double>&, const RelationView&);
template void attention_weights(const AttentionWeights<float>&, const RelationView&);
template void attention_weights(const AttentionWeights<double>&, const RelationView&);

template <>
void attention_forward(const AttentionForward<BFloat16>& p, const RelationView& relation) {
  const FloatAttention in_float(p, relation);
  attention_forward(in_float.forward(), relation);
  round_to(in_float.out(), p.out);
  std::ranges::copy(in_float.log_normalizer(), p.log_normalizer);
}

template <>
void attention_backward(const AttentionBackward<BFloat16>& p, const RelationView& relation) {
  const AttentionForward<BFloat16>& f = p.forward;
  const FloatAttention in_float(f, relation);
  attention_forward(in_float.forward(), relation);
  const std::vector<float> grad_out(p.grad_out, p.grad_out + in_float.out().size());
  const std::int64_t num_rows = relation.num_destinations * f.num_heads;
  const std::int64_t num_sources = relation.num_sources * f.key_heads();
  std::vector<float> grad_query(p.grad_query, p.grad_query + num_rows * f.head_size);
  std::vector<float> grad_key(p.grad_key, p.grad_key + num_sources * f.head_size);
  std::vector<float> grad_value(p.grad_value, p.grad_value + num_sources * f.value_size);
  const std::int64_t num_edges = relation.num_edges() * f.num_heads;
  std::vector<float> grad_edge_key(p.grad_edge_key == nullptr ? 0 : num_edges * f.head_size);
  std::vector<float> grad_edge_value(p.grad_edge_value == nullptr ? 0 : num_edges * f.value_size);
  const AttentionBackward<float> backward = {
      .forward = in_float.forward(),
      .grad_out = grad_out.data(),
      .grad_query = grad_query.data(),
      .grad_key = grad_key.data(),
      .grad_value = grad_value.data(),
      .grad_edge_bias = p.grad_edge_bias,
      .grad_edge_key = p.grad_edge_key == nullptr ? nullptr : grad_edge_key.data(),
      .grad_edge_value = p.grad_edge_value == nullptr ? nullptr : grad_edge_value.data()};
  attention_backward(backward, relation);
  if (p.grad_edge_key != nullptr) round_to(grad_edge_key, p.grad_edge_key);
  if (p.grad_edge_value != nullptr) round_to(grad_edge_value, p.grad_edge_value);
  round_to(grad_query, p.grad_query);
  round_to(grad_key, p.grad_key);
  round_to(grad_value, p.grad_value);
}

template <>
void attention_weights(const AttentionWeights<BFloat16>& p, const RelationView& relation) {
  const FloatAttention in_float(p.forward, relation);
  attention_weights(AttentionWeights<float>{.forward = in_float.forward(), .weight = p.weight}, relation);
}

}  // namespace edgewise::kernels::reference
