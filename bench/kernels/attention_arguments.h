// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <benchmark/benchmark.h>

#include <limits>
#include <new>
#include <vector>

#include "edgewise/base/random.h"
#include "edgewise/graph/relation.h"
#include "edgewise/kernels/attention/attention.h"

namespace edgewise::kernels {

/// Allocates with the alignment of libtorch's tensors.
template <typename T>
struct AlignedAllocator {
  using value_type = T;
  static constexpr std::align_val_t kAlignment{64};

  AlignedAllocator() = default;
  template <typename U>
  explicit AlignedAllocator(const AlignedAllocator<U>& /*other*/) {}

  T* allocate(std::size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), kAlignment)); }
  void deallocate(T* memory, std::size_t /*count*/) { ::operator delete(memory, kAlignment); }

  friend bool operator==(const AlignedAllocator&, const AlignedAllocator&) { return true; }
};

enum class Passes { kForward, kBackward, kBoth };

/// Random arguments of attention over a relation, with 8 heads of size 64.
template <typename T>
class AttentionArguments {
 public:
  static constexpr std::int64_t kHeads = 8;
  static constexpr std::int64_t kHeadSize = 64;

  explicit AttentionArguments(const Relation& relation, std::int64_t num_saved_weights = 0)
      : num_edges_(relation.num_edges()) {
    const auto destinations = static_cast<std::size_t>(relation.num_destinations() * kHeads * kHeadSize);
    const auto sources = static_cast<std::size_t>(relation.num_sources() * kHeads * kHeadSize);
    for (auto* tensor : {&query_, &out_, &grad_out_, &grad_query_}) fill(*tensor, destinations);
    for (auto* tensor : {&key_, &value_, &grad_key_, &grad_value_}) fill(*tensor, sources);
    log_normalizer_.resize(static_cast<std::size_t>(relation.num_destinations() * kHeads));
    saved_weights_.resize(static_cast<std::size_t>(num_saved_weights * kHeads));
  }

  AttentionForward<T> forward(double dropout) {
    return {.query = query_.data(),
            .key = key_.data(),
            .value = value_.data(),
            .edge_bias = nullptr,
            .out = out_.data(),
            .log_normalizer = log_normalizer_.data(),
            .num_heads = kHeads,
            .head_size = kHeadSize,
            .value_size = kHeadSize,
            .scale = 0.125f,
            .clamp = std::numeric_limits<float>::infinity(),
            .dropout = {dropout, /*seed=*/1, /*stream=*/1},
            .saved_weights = saved_weights_.data()};
  }

  AttentionBackward<T> backward(double dropout) {
    return {.forward = forward(dropout),
            .grad_out = grad_out_.data(),
            .grad_query = grad_query_.data(),
            .grad_key = grad_key_.data(),
            .grad_value = grad_value_.data(),
            .grad_edge_bias = nullptr};
  }

  /// Sets the counter FLOP/s. Forward computes two products of vectors per edge, and backward computes five.
  void report_flops(benchmark::State& state, Passes passes) const {
    const double products = passes == Passes::kForward ? 2 : passes == Passes::kBackward ? 5 : 7;
    const double flops = 2 * products * kHeads * kHeadSize * static_cast<double>(num_edges_);
    state.counters["FLOP/s"] = benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
  }

 private:
  template <typename U>
  using Tensor = std::vector<U, AlignedAllocator<U>>;

  void fill(Tensor<T>& values, std::size_t count) {
    values.resize(count);
    for (T& x : values) x = static_cast<T>(static_cast<float>(random_.uniform()) - 0.5f);
  }

  RandomStream random_{/*seed=*/2};
  std::int64_t num_edges_;
  Tensor<T> query_, key_, value_, out_, grad_out_, grad_query_, grad_key_, grad_value_;
  Tensor<float> log_normalizer_, saved_weights_;
};

}  // namespace edgewise::kernels
