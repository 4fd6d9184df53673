// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <numeric>
#include <type_traits>

#include "edgewise/kernels/attention/parallel_rows.h"
#include "edgewise/kernels/message/edge_softmax.h"
#include "edgewise/kernels/reference_loops.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "edgewise/kernels/simd/scratch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "edgewise/kernels/message/edge_softmax_cpu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "edgewise/kernels/simd/exp-inl.h"
#include "edgewise/kernels/simd/vectors-inl.h"

// Highway includes this file once for each instruction set; the guarded part is compiled once.
#ifndef EDGEWISE_KERNELS_MESSAGE_EDGE_SOFTMAX_CPU_CC
#define EDGEWISE_KERNELS_MESSAGE_EDGE_SOFTMAX_CPU_CC
namespace edgewise::kernels {

/// Tensors [E, H].
struct SoftmaxTask {
  RelationView relation;
  std::int64_t num_heads;
  const float* score;
  float* weight;
};
struct SoftmaxBackwardTask {
  RelationView relation;
  std::int64_t num_heads;
  const float* weight;
  const float* grad_weight;
  float* grad_score;
};

}  // namespace edgewise::kernels
#endif  // EDGEWISE_KERNELS_MESSAGE_EDGE_SOFTMAX_CPU_CC

HWY_BEFORE_NAMESPACE();
namespace edgewise::kernels::HWY_NAMESPACE {
namespace {

/// One number for each head, repeated so that vectors of a row [edges, H] find their heads' numbers in order: the row's
/// vector i belongs to the vector i % num_vectors of the numbers.
class HeadNumbers {
 public:
  explicit HeadNumbers(std::int64_t num_heads)
      : num_heads_(num_heads),
        size_(std::lcm(num_heads, kLanes)),
        numbers_(Scratch::of_this_thread().take(static_cast<std::size_t>(size_))) {}

  void fill(float number) { std::fill_n(numbers_, size_, number); }

  /// Combines the numbers of each head, and repeats the result.
  template <class Combine>
  void fold(Combine combine) {
    for (std::int64_t i = num_heads_; i < size_; ++i) {
      numbers_[i % num_heads_] = combine(numbers_[i % num_heads_], numbers_[i]);
    }
    for (std::int64_t i = num_heads_; i < size_; ++i) numbers_[i] = numbers_[i - num_heads_];
  }

  template <class Change>
  void change(Change change) {
    for (std::int64_t i = 0; i < size_; ++i) numbers_[i] = change(numbers_[i]);
  }

  /// Calls body(index in the row, part of the vector, numbers) for each vector of a row of `count` floats.
  template <class Body>
  HWY_INLINE void for_vectors(std::int64_t count, Body&& body) {
    std::int64_t i = 0;
    for_each_vector(count, [&](std::int64_t first, auto part) HWY_ATTR {
      body(first, part, numbers_ + i);
      i += kLanes;
      if (i == size_) i = 0;
    });
  }

 private:
  std::int64_t num_heads_;
  std::int64_t size_;
  float* numbers_;
};

void softmax_rows(const SoftmaxTask& task, std::int64_t row_begin, std::int64_t row_end) {
  const FloatTag d;
  Scratch::of_this_thread().reset();
  HeadNumbers maxima(task.num_heads);
  HeadNumbers totals(task.num_heads);
  for (std::int64_t row = row_begin; row < row_end; ++row) {
    const std::int64_t begin = task.relation.row_begin[row] * task.num_heads;
    const std::int64_t count = task.relation.row_begin[row + 1] * task.num_heads - begin;
    const float* score = task.score + begin;
    float* weight = task.weight + begin;
    constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

    maxima.fill(kMinusInfinity);
    maxima.for_vectors(count, [&](std::int64_t i, auto part, float* maximum) HWY_ATTR {
      const auto values = values_or(part, load(part, score + i), kMinusInfinity);
      hn::Store(hn::Max(hn::Load(d, maximum), values), d, maximum);
    });
    maxima.fold([](float a, float b) { return std::max(a, b); });
    // If all scores are -inf, a maximum of 0 gives the weights 0, not NaN.
    maxima.change([](float maximum) { return maximum == kMinusInfinity ? 0.0f : maximum; });

    totals.fill(0);
    maxima.for_vectors(count, [&](std::int64_t i, auto part, const float* maximum) HWY_ATTR {
      store(part, exp_lanes(hn::Sub(load(part, score + i), hn::Load(d, maximum))), weight + i);
    });
    totals.for_vectors(count, [&](std::int64_t i, auto part, float* total) HWY_ATTR {
      hn::Store(hn::Add(hn::Load(d, total), load(part, weight + i)), d, total);
    });
    totals.fold([](float a, float b) { return a + b; });
    totals.change([](float total) { return total == 0 ? 0.0f : 1 / total; });

    totals.for_vectors(count, [&](std::int64_t i, auto part, const float* factor) HWY_ATTR {
      store(part, hn::Mul(load(part, weight + i), hn::Load(d, factor)), weight + i);
    });
  }
}

void differentiate_softmax_rows(const SoftmaxBackwardTask& task, std::int64_t row_begin, std::int64_t row_end) {
  const FloatTag d;
  Scratch::of_this_thread().reset();
  HeadNumbers sums(task.num_heads);
  for (std::int64_t row = row_begin; row < row_end; ++row) {
    const std::int64_t begin = task.relation.row_begin[row] * task.num_heads;
    const std::int64_t count = task.relation.row_begin[row + 1] * task.num_heads - begin;
    const float* weight = task.weight + begin;
    const float* grad_weight = task.grad_weight + begin;
    float* grad_score = task.grad_score + begin;
    sums.fill(0);
    sums.for_vectors(count, [&](std::int64_t i, auto part, float* sum) HWY_ATTR {
      hn::Store(hn::MulAdd(load(part, weight + i), load(part, grad_weight + i), hn::Load(d, sum)), d, sum);
    });
    sums.fold([](float a, float b) { return a + b; });
    sums.for_vectors(count, [&](std::int64_t i, auto part, const float* sum) HWY_ATTR {
      const auto difference = hn::Sub(load(part, grad_weight + i), hn::Load(d, sum));
      store(part, hn::Mul(load(part, weight + i), difference), grad_score + i);
    });
  }
}

}  // namespace
}  // namespace edgewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace edgewise::kernels {

HWY_EXPORT(softmax_rows);
HWY_EXPORT(differentiate_softmax_rows);

namespace {

/// Returns whether the loops with vectors compute T. They are for floats.
template <typename T>
bool has_fast_softmax(std::int64_t num_heads) {
  return std::is_same_v<T, float> && num_heads > 0 && instruction_set() != InstructionSet::kReference;
}

}  // namespace

template <typename T>
void edge_softmax(const RelationView& relation, std::int64_t num_heads, const T* score, T* weight) {
  if constexpr (std::is_same_v<T, float>) {
    if (has_fast_softmax<T>(num_heads)) {
      const SoftmaxTask task = {relation, num_heads, score, weight};
      return parallel_row_ranges(relation, [&](std::int64_t begin, std::int64_t end) {
        HWY_DYNAMIC_DISPATCH(softmax_rows)(task, begin, end);
      });
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
      const SoftmaxBackwardTask task = {relation, num_heads, weight, grad_weight, grad_score};
      return parallel_row_ranges(relation, [&](std::int64_t begin, std::int64_t end) {
        HWY_DYNAMIC_DISPATCH(differentiate_softmax_rows)(task, begin, end);
      });
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
