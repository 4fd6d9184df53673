// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <limits>
#include <type_traits>
#include <vector>

#include "edgewise/base/threads.h"
#include "edgewise/kernels/attention/parallel_rows.h"
#include "edgewise/kernels/message/edge_rows.h"
#include "edgewise/kernels/message/edge_softmax.h"
#include "edgewise/kernels/reference_loops.h"
#include "edgewise/kernels/simd/instruction_set.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "edgewise/kernels/message/edge_softmax_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "edgewise/kernels/message/head_numbers-inl.h"
#include "edgewise/kernels/simd/exp-inl.h"
#include "edgewise/kernels/simd/vectors-inl.h"

// Highway includes this file once for each instruction set; the guarded part is compiled once.
#ifndef EDGEWISE_KERNELS_MESSAGE_EDGE_SOFTMAX_CPU_CC
#define EDGEWISE_KERNELS_MESSAGE_EDGE_SOFTMAX_CPU_CC
namespace edgewise::kernels {

/// Tensors [E, H] of consecutive edges.
struct SoftmaxEdges {
  std::int64_t num_heads;
  const float* score;
  float* weight;

  SoftmaxEdges from(EdgeIndex edge) const { return {num_heads, score + edge * num_heads, weight + edge * num_heads}; }
};
struct SoftmaxBackwardEdges {
  std::int64_t num_heads;
  const float* weight;
  const float* grad_weight;
  float* grad_score;

  SoftmaxBackwardEdges from(EdgeIndex edge) const {
    const std::int64_t i = edge * num_heads;
    return {num_heads, weight + i, grad_weight + i, grad_score + i};
  }
};

/// The threads share a row with more edges. The order of its sums does not depend on their number.
inline constexpr EdgeIndex kMaxRowEdges = 16 * kMaxPieceEdges;

}  // namespace edgewise::kernels
#endif  // EDGEWISE_KERNELS_MESSAGE_EDGE_SOFTMAX_CPU_CC

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

struct LargerNumber {
  float operator()(float a, float b) const { return std::max(a, b); }
  HWY_INLINE Floats operator()(Floats a, Floats b) const { return hn::Max(a, b); }
};
struct SumOfNumbers {
  float operator()(float a, float b) const { return a + b; }
  HWY_INLINE Floats operator()(Floats a, Floats b) const { return hn::Add(a, b); }
};

/// If all scores are -inf, a shift of 0 gives the weights 0, not NaN.
HWY_INLINE Floats zero_if_infinite(Floats maxima) {
  return hn::IfThenZeroElse(hn::Eq(maxima, hn::Set(FloatTag(), kMinusInfinity)), maxima);
}

HWY_INLINE Floats reciprocal_or_zero(Floats totals) {
  const FloatTag d;
  return hn::IfThenZeroElse(hn::Eq(totals, hn::Zero(d)), hn::Div(hn::Set(d, 1), totals));
}

template <class Heads>
HWY_INLINE void find_maxima(const SoftmaxEdges& edges, EdgeIndex count, Heads& maxima) {
  maxima.fill(kMinusInfinity);
  maxima.for_vectors(count * edges.num_heads, [&](std::int64_t i, auto part, std::int64_t vector) HWY_ATTR {
    const auto scores = values_or(part, load(part, edges.score + i), kMinusInfinity);
    maxima.set(vector, hn::Max(maxima.get(vector), scores));
  });
  maxima.fold(LargerNumber());
}

/// Writes exp(score - shift) to the weights, and adds up the weights of each head.
template <class Heads>
HWY_INLINE void exponentiate(const SoftmaxEdges& edges, EdgeIndex count, const Heads& shifts, Heads& totals) {
  totals.fill(0);
  totals.for_vectors(count * edges.num_heads, [&](std::int64_t i, auto part, std::int64_t vector) HWY_ATTR {
    const auto weight = exp_lanes(hn::Sub(load(part, edges.score + i), shifts.get(vector)));
    store(part, weight, edges.weight + i);
    totals.set(vector, hn::Add(totals.get(vector), values_or_zero(part, weight)));
  });
  totals.fold(SumOfNumbers());
}

template <class Heads>
HWY_INLINE void scale(const SoftmaxEdges& edges, EdgeIndex count, const Heads& factors) {
  factors.for_vectors(count * edges.num_heads, [&](std::int64_t i, auto part, std::int64_t vector) HWY_ATTR {
    store(part, hn::Mul(load(part, edges.weight + i), factors.get(vector)), edges.weight + i);
  });
}

template <class Heads>
HWY_INLINE void add_products(const SoftmaxBackwardEdges& edges, EdgeIndex count, Heads& sums) {
  sums.fill(0);
  sums.for_vectors(count * edges.num_heads, [&](std::int64_t i, auto part, std::int64_t vector) HWY_ATTR {
    sums.set(vector, hn::MulAdd(load(part, edges.weight + i), load(part, edges.grad_weight + i), sums.get(vector)));
  });
  sums.fold(SumOfNumbers());
}

template <class Heads>
HWY_INLINE void write_gradients(const SoftmaxBackwardEdges& edges, EdgeIndex count, const Heads& sums) {
  sums.for_vectors(count * edges.num_heads, [&](std::int64_t i, auto part, std::int64_t vector) HWY_ATTR {
    const auto difference = hn::Sub(load(part, edges.grad_weight + i), sums.get(vector));
    store(part, hn::Mul(load(part, edges.weight + i), difference), edges.grad_score + i);
  });
}

void softmax_rows(const RelationView& relation, const SoftmaxEdges& edges, std::int64_t row_begin,
                  std::int64_t row_end) {
  with_heads(edges.num_heads, [&](auto maxima, auto totals) HWY_ATTR {
    for (std::int64_t row = row_begin; row < row_end; ++row) {
      const EdgeIndex count = relation.row_begin[row + 1] - relation.row_begin[row];
      if (count > kMaxRowEdges) continue;
      const SoftmaxEdges of_row = edges.from(relation.row_begin[row]);
      find_maxima(of_row, count, maxima);
      maxima.change([](Floats values) HWY_ATTR { return zero_if_infinite(values); });
      exponentiate(of_row, count, maxima, totals);
      totals.change([](Floats values) HWY_ATTR { return reciprocal_or_zero(values); });
      scale(of_row, count, totals);
    }
  });
}

void differentiate_softmax_rows(const RelationView& relation, const SoftmaxBackwardEdges& edges, std::int64_t row_begin,
                                std::int64_t row_end) {
  with_heads(edges.num_heads, [&](auto sums, auto /*others*/) HWY_ATTR {
    for (std::int64_t row = row_begin; row < row_end; ++row) {
      const EdgeIndex count = relation.row_begin[row + 1] - relation.row_begin[row];
      if (count > kMaxRowEdges) continue;
      const SoftmaxBackwardEdges of_row = edges.from(relation.row_begin[row]);
      add_products(of_row, count, sums);
      write_gradients(of_row, count, sums);
    }
  });
}

// The steps of these functions for a part of a row, with one number for each head.

void find_maxima_of_part(const SoftmaxEdges& edges, EdgeIndex count, float* maximum_H) {
  with_heads(edges.num_heads, [&](auto maxima, auto /*others*/) HWY_ATTR {
    find_maxima(edges, count, maxima);
    maxima.write(maximum_H);
  });
}

void exponentiate_part(const SoftmaxEdges& edges, EdgeIndex count, const float* maximum_H, float* total_H) {
  with_heads(edges.num_heads, [&](auto maxima, auto totals) HWY_ATTR {
    maxima.read(maximum_H);
    maxima.change([](Floats values) HWY_ATTR { return zero_if_infinite(values); });
    exponentiate(edges, count, maxima, totals);
    totals.write(total_H);
  });
}

void scale_part(const SoftmaxEdges& edges, EdgeIndex count, const float* total_H) {
  with_heads(edges.num_heads, [&](auto totals, auto /*others*/) HWY_ATTR {
    totals.read(total_H);
    totals.change([](Floats values) HWY_ATTR { return reciprocal_or_zero(values); });
    scale(edges, count, totals);
  });
}

void add_products_of_part(const SoftmaxBackwardEdges& edges, EdgeIndex count, float* sum_H) {
  with_heads(edges.num_heads, [&](auto sums, auto /*others*/) HWY_ATTR {
    add_products(edges, count, sums);
    sums.write(sum_H);
  });
}

void write_gradients_of_part(const SoftmaxBackwardEdges& edges, EdgeIndex count, const float* sum_H) {
  with_heads(edges.num_heads, [&](auto sums, auto /*others*/) HWY_ATTR {
    sums.read(sum_H);
    write_gradients(edges, count, sums);
  });
}

}  // namespace
}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgewise::kernels {

HWY_EXPORT(softmax_rows);
HWY_EXPORT(differentiate_softmax_rows);
HWY_EXPORT(find_maxima_of_part);
HWY_EXPORT(exponentiate_part);
HWY_EXPORT(scale_part);
HWY_EXPORT(add_products_of_part);
HWY_EXPORT(write_gradients_of_part);

namespace {

/// Returns whether the loops with vectors compute T. They are for floats.
template <typename T>
bool has_fast_softmax(std::int64_t num_heads) {
  return std::is_same_v<T, float> && num_heads > 0 && instruction_set() != InstructionSet::kReference;
}

/// Calls fn(first edge, number of edges) for each row with more than kMaxRowEdges edges.
template <class Fn>
void for_long_rows(const RelationView& relation, Fn fn) {
  for (std::int64_t row = 0; row < relation.num_destinations; ++row) {
    const EdgeIndex count = relation.row_begin[row + 1] - relation.row_begin[row];
    if (count > kMaxRowEdges) fn(relation.row_begin[row], count);
  }
}

/// Calls fn(first edge, number of edges, number of the part) in parallel for the parts of a row.
template <class Fn>
void for_parts(EdgeIndex begin, EdgeIndex count, Fn fn) {
  const std::int64_t num_parts = (count + kMaxPieceEdges - 1) / kMaxPieceEdges;
  parallel_for(num_parts, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t part = first; part < last; ++part) {
      const EdgeIndex offset = part * kMaxPieceEdges;
      fn(begin + offset, std::min(kMaxPieceEdges, count - offset), part);
    }
  });
}

/// Returns one number for each head: those that compute(first edge, number of edges, numbers [H]) writes for each part
/// of a row, combined in the order of the parts.
template <class Compute, class Combine>
std::vector<float> combine_parts(EdgeIndex begin, EdgeIndex count, std::int64_t num_heads, Compute compute,
                                 Combine combine) {
  const std::int64_t num_parts = (count + kMaxPieceEdges - 1) / kMaxPieceEdges;
  std::vector<float> numbers(static_cast<std::size_t>(num_parts * num_heads));
  for_parts(begin, count, [&](EdgeIndex first, EdgeIndex size, std::int64_t part) {
    compute(first, size, numbers.data() + part * num_heads);
  });
  for (std::int64_t i = num_heads; i < num_parts * num_heads; ++i) {
    float& number = numbers[static_cast<std::size_t>(i % num_heads)];
    number = combine(number, numbers[static_cast<std::size_t>(i)]);
  }
  return numbers;
}

void softmax_long_row(const SoftmaxEdges& edges, EdgeIndex begin, EdgeIndex count) {
  const std::vector<float> maxima = combine_parts(
      begin, count, edges.num_heads,
      [&](EdgeIndex first, EdgeIndex size, float* maximum_H) {
        HWY_DYNAMIC_DISPATCH(find_maxima_of_part)(edges.from(first), size, maximum_H);
      },
      [](float a, float b) { return std::max(a, b); });
  const std::vector<float> totals = combine_parts(
      begin, count, edges.num_heads,
      [&](EdgeIndex first, EdgeIndex size, float* total_H) {
        HWY_DYNAMIC_DISPATCH(exponentiate_part)(edges.from(first), size, maxima.data(), total_H);
      },
      std::plus<>());
  for_parts(begin, count, [&](EdgeIndex first, EdgeIndex size, std::int64_t /*part*/) {
    HWY_DYNAMIC_DISPATCH(scale_part)(edges.from(first), size, totals.data());
  });
}

void differentiate_long_row(const SoftmaxBackwardEdges& edges, EdgeIndex begin, EdgeIndex count) {
  const std::vector<float> sums = combine_parts(
      begin, count, edges.num_heads,
      [&](EdgeIndex first, EdgeIndex size, float* sum_H) {
        HWY_DYNAMIC_DISPATCH(add_products_of_part)(edges.from(first), size, sum_H);
      },
      std::plus<>());
  for_parts(begin, count, [&](EdgeIndex first, EdgeIndex size, std::int64_t /*part*/) {
    HWY_DYNAMIC_DISPATCH(write_gradients_of_part)(edges.from(first), size, sums.data());
  });
}

}  // namespace

template <typename T>
void edge_softmax(const RelationView& relation, std::int64_t num_heads, const T* score, T* weight) {
  if constexpr (std::is_same_v<T, float>) {
    if (has_fast_softmax<T>(num_heads)) {
      const SoftmaxEdges edges = {num_heads, score, weight};
      parallel_row_ranges(relation, [&](std::int64_t begin, std::int64_t end) {
        HWY_DYNAMIC_DISPATCH(softmax_rows)(relation, edges, begin, end);
      });
      return for_long_rows(relation, [&](EdgeIndex begin, EdgeIndex count) { softmax_long_row(edges, begin, count); });
    }
  }
  std::copy_n(score, relation.num_edges() * num_heads, weight);
  parallel_rows(relation, {0, num_heads}, [&](std::int64_t row, std::int64_t head) {
    const EdgeIndex begin = relation.row_begin[row];
    reference::softmax_in_place(weight + begin * num_heads + head, num_heads, relation.row_begin[row + 1] - begin);
  });
}

template <typename T>
void edge_softmax_backward(const RelationView& relation, std::int64_t num_heads, const T* weight, const T* grad_weight,
                           T* grad_score) {
  if constexpr (std::is_same_v<T, float>) {
    if (has_fast_softmax<T>(num_heads)) {
      const SoftmaxBackwardEdges edges = {num_heads, weight, grad_weight, grad_score};
      parallel_row_ranges(relation, [&](std::int64_t begin, std::int64_t end) {
        HWY_DYNAMIC_DISPATCH(differentiate_softmax_rows)(relation, edges, begin, end);
      });
      return for_long_rows(relation,
                           [&](EdgeIndex begin, EdgeIndex count) { differentiate_long_row(edges, begin, count); });
    }
  }
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

template void edge_softmax(const RelationView&, std::int64_t, const float*, float*);
template void edge_softmax(const RelationView&, std::int64_t, const double*, double*);
template void edge_softmax_backward(const RelationView&, std::int64_t, const float*, const float*, float*);
template void edge_softmax_backward(const RelationView&, std::int64_t, const double*, const double*, double*);

}  // namespace edgewise::kernels
#endif  // HWY_ONCE
