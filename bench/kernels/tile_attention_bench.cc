// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <limits>
#include <new>
#include <string>
#include <vector>

#include "edgewise/base/random.h"
#include "edgewise/base/threads.h"
#include "edgewise/graph/builders.h"
#include "edgewise/graph/relation_ops.h"
#include "edgewise/kernels/attention/tile_attention.h"

namespace edgewise::kernels {
namespace {

constexpr std::int64_t kHeads = 8;
constexpr std::int64_t kHeadSize = 64;

// A batch of translation: 128 sentences of 6 to 28 tokens.
template <class MakeSentence>
Relation sentences(MakeSentence make) {
  RandomStream random(/*seed=*/1);
  std::vector<Relation> parts;
  for (int i = 0; i < 128; ++i) parts.push_back(make(6 + static_cast<std::int64_t>(random.below(23))));
  return join(parts);
}

Relation sentences_complete() {
  return sentences([](std::int64_t length) { return complete(length); });
}
Relation sentences_causal() {
  return sentences([](std::int64_t length) { return causal(length); });
}
Relation window_4096() { return window(4096, {.before = 128, .after = 128}); }
Relation window_65536() { return window(65536, {.before = 128, .after = 128}); }
Relation complete_2048() { return complete(2048); }
Relation causal_2048() { return causal(2048); }

// As libtorch aligns tensors.
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

template <typename T>
using Tensor = std::vector<T, AlignedAllocator<T>>;

template <typename T>
struct Tensors {
  explicit Tensors(const Relation& relation) {
    const auto destinations = static_cast<std::size_t>(relation.num_destinations() * kHeads * kHeadSize);
    const auto sources = static_cast<std::size_t>(relation.num_sources() * kHeads * kHeadSize);
    for (auto* at_destinations : {&query, &out, &grad_out, &grad_query}) fill(*at_destinations, destinations);
    for (auto* at_sources : {&key, &value, &grad_key, &grad_value}) fill(*at_sources, sources);
    log_normalizer.resize(static_cast<std::size_t>(relation.num_destinations() * kHeads));
  }

  void fill(Tensor<T>& values, std::size_t count) {
    values.resize(count);
    for (T& x : values) x = static_cast<T>(static_cast<float>(random.uniform()) - 0.5f);
  }

  RandomStream random{/*seed=*/2};
  Tensor<T> query, key, value, out, grad_out, grad_query, grad_key, grad_value;
  Tensor<float> log_normalizer, kept_weights;
};

enum class Passes { kForward, kBackward, kBoth };

template <typename T>
void attend(benchmark::State& state, const Relation& relation, Passes passes, double dropout) {
  const TilePlan plan(relation.view());
  Tensors<T> tensors(relation);
  tensors.kept_weights.resize(static_cast<std::size_t>(plan.num_kept_weights * kHeads));
  const AttentionForward<T> forward = {.relation = relation.view(),
                                       .query = tensors.query.data(),
                                       .key = tensors.key.data(),
                                       .value = tensors.value.data(),
                                       .edge_bias = nullptr,
                                       .out = tensors.out.data(),
                                       .log_normalizer = tensors.log_normalizer.data(),
                                       .num_heads = kHeads,
                                       .head_size = kHeadSize,
                                       .value_size = kHeadSize,
                                       .scale = 0.125f,
                                       .clamp = std::numeric_limits<float>::infinity(),
                                       .dropout = {dropout, /*seed=*/1, /*stream=*/1},
                                       .kept_weights = tensors.kept_weights.data()};
  const AttentionBackward<T> backward = {.forward = forward,
                                         .grad_out = tensors.grad_out.data(),
                                         .grad_query = tensors.grad_query.data(),
                                         .grad_key = tensors.grad_key.data(),
                                         .grad_value = tensors.grad_value.data(),
                                         .grad_edge_bias = nullptr};
  cpu::tile_attention_forward(forward, plan);
  for (auto _ : state) {
    if (passes != Passes::kBackward) cpu::tile_attention_forward(forward, plan);
    if (passes != Passes::kForward) cpu::tile_attention_backward(backward, plan);
  }
  // A forward pass needs two products of every edge, a backward pass five.
  const double products = passes == Passes::kForward ? 2 : passes == Passes::kBackward ? 5 : 7;
  const double flops = 2 * products * kHeads * kHeadSize * static_cast<double>(relation.num_edges());
  state.counters["FLOP/s"] = benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
}

struct Case {
  std::string name;
  Relation (*relation)();
};

template <typename T>
void add(const Case& entry, const std::string& suffix, Passes passes, double dropout = 0) {
  benchmark::RegisterBenchmark((entry.name + "/" + suffix).c_str(),
                               [=](benchmark::State& state) { attend<T>(state, entry.relation(), passes, dropout); })
      ->Unit(benchmark::kMillisecond)
      ->UseRealTime()
      ->MeasureProcessCPUTime();
}

const bool kAdded = [] {
  const std::vector<Case> cases = {{"sentences_complete", sentences_complete},
                                   {"sentences_causal", sentences_causal},
                                   {"window_4096", window_4096},
                                   {"window_65536", window_65536},
                                   {"complete_2048", complete_2048},
                                   {"causal_2048", causal_2048}};
  for (const Case& entry : cases) {
    add<float>(entry, "fp32/forward", Passes::kForward);
    add<float>(entry, "fp32/backward", Passes::kBackward);
    add<float>(entry, "fp32/both", Passes::kBoth);
    add<float>(entry, "fp32/dropout/both", Passes::kBoth, 0.1);
    add<BFloat16>(entry, "bf16/both", Passes::kBoth);
  }
  return true;
}();

}  // namespace
}  // namespace edgewise::kernels
