// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>

#include <cstring>
#include <vector>

#include "edgewise/base/random.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/norm/add_norm.h"
#include "edgewise/kernels/dropout/dropout.h"
#include "edgewise/kernels/embedding/embed.h"

// The passes over memory between layers, of T = 4096 tokens. Bytes are those that a pass must read and write, once
// each; BM_Copy shows what the machine moves.
namespace edgewise::kernels {
namespace {

constexpr std::int64_t kTokens = 4096;
constexpr std::int64_t kWords = 10'000;

template <typename T>
std::vector<T> filled(std::int64_t count) {
  RandomStream random(1);
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) value = static_cast<T>(static_cast<float>(random.uniform()));
  return values;
}

void report(benchmark::State& state, std::int64_t bytes_of_a_value) {
  state.SetBytesProcessed(state.iterations() * kTokens * state.range(0) * bytes_of_a_value);
}

double rate_of(const benchmark::State& state) { return static_cast<double>(state.range(1)) / 100.0; }

void BM_Copy(benchmark::State& state) {
  const std::int64_t count = kTokens * state.range(0);
  const auto in = filled<float>(count);
  std::vector<float> out(in.size());
  for (auto _ : state) {
    parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(out.data() + begin, in.data() + begin, static_cast<std::size_t>(end - begin) * sizeof(float));
    });
    benchmark::ClobberMemory();
  }
  report(state, 2 * sizeof(float));
}

void BM_Dropout(benchmark::State& state) {
  const std::int64_t count = kTokens * state.range(0);
  const auto in = filled<float>(count);
  std::vector<float> out(in.size());
  for (auto _ : state) {
    dropout({rate_of(state), 1, 2}, count, in.data(), out.data());
    benchmark::ClobberMemory();
  }
  report(state, 2 * sizeof(float));
}

// What add & norm reads and writes.
template <typename Y, typename N>
struct AddNormProblem {
  explicit AddNormProblem(std::int64_t model_size) : size(model_size) {}

  std::int64_t size;
  std::vector<float> x = filled<float>(kTokens * size);
  std::vector<Y> y = filled<Y>(kTokens * size);
  std::vector<float> gain = filled<float>(size);
  std::vector<float> sum = x;
  std::vector<N> normed = filled<N>(kTokens * size);
  std::vector<float> statistics = std::vector<float>(2 * kTokens, 1.0f);
  std::vector<float> grad_x = x;
  std::vector<Y> grad_y = y;
  std::vector<float> grad_parameters = std::vector<float>(static_cast<std::size_t>(2 * size));

  NormFormula formula() const { return {static_cast<double>(size), 1e-5, 0.0}; }

  AddNormForward<float, Y, N> forward(double rate) {
    return {x.data(),   y.data(),      gain.data(),       gain.data(),
            sum.data(), normed.data(), statistics.data(), statistics.data() + kTokens,
            kTokens,    size,          formula(),         {rate, 1, 2}};
  }

  AddNormBackward<float, Y, N> backward(double rate) {
    return {
        sum.data(),    gain.data(),   statistics.data(),      statistics.data() + kTokens,   x.data(), normed.data(),
        grad_x.data(), grad_y.data(), grad_parameters.data(), grad_parameters.data() + size, kTokens,  size,
        formula(),     {rate, 1, 2}};
  }
};

template <typename Y, typename N>
void BM_AddNormForward(benchmark::State& state) {
  AddNormProblem<Y, N> problem(state.range(0));
  for (auto _ : state) {
    add_norm_forward(problem.forward(rate_of(state)));
    benchmark::ClobberMemory();
  }
  report(state, 2 * sizeof(float) + sizeof(Y) + sizeof(N));
}

template <typename Y, typename N>
void BM_AddNormBackward(benchmark::State& state) {
  AddNormProblem<Y, N> problem(state.range(0));
  for (auto _ : state) {
    add_norm_backward(problem.backward(rate_of(state)));
    benchmark::ClobberMemory();
  }
  report(state, 3 * sizeof(float) + sizeof(Y) + sizeof(N));
}

void BM_Embed(benchmark::State& state) {
  const std::int64_t size = state.range(0);
  const auto weight = filled<float>(kWords * size);
  const auto table = filled<float>(100 * size);
  std::vector<float> out(static_cast<std::size_t>(kTokens * size));
  std::vector<float> grad_weight = weight;
  std::vector<std::int64_t> tokens, positions;
  RandomStream random(2);
  for (std::int64_t t = 0; t < kTokens; ++t) {
    tokens.push_back(static_cast<std::int64_t>(random.below(kWords)));
    positions.push_back(t % 100);
  }
  const Dropout dropout = {rate_of(state), 1, 2};
  for (auto _ : state) {
    embed_forward(EmbedForward<float>{weight.data(), tokens.data(), table.data(), positions.data(), out.data(), kTokens,
                                      size, 2.0f, dropout});
    embed_backward(EmbedBackward<float>{tokens.data(), out.data(), grad_weight.data(), kTokens, size, 2.0f, dropout});
    benchmark::ClobberMemory();
  }
  report(state, 6 * sizeof(float));
}

// Model size, and the percentage of values dropped.
void sizes(benchmark::internal::Benchmark* bench) { bench->ArgsProduct({{128, 512}, {0, 10}})->UseRealTime(); }

BENCHMARK(BM_Copy)->Arg(128)->Arg(512)->UseRealTime();
BENCHMARK(BM_Dropout)->Apply(sizes);
BENCHMARK(BM_AddNormForward<float, float>)->Apply(sizes);
BENCHMARK(BM_AddNormForward<BFloat16, BFloat16>)->Apply(sizes);
BENCHMARK(BM_AddNormBackward<float, float>)->Apply(sizes);
BENCHMARK(BM_AddNormBackward<BFloat16, BFloat16>)->Apply(sizes);
BENCHMARK(BM_Embed)->Apply(sizes);

}  // namespace
}  // namespace edgewise::kernels
