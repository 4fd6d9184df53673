// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <string>
#include <vector>

#include "bench/kernels/add_benchmark.h"
#include "edgewise/base/random.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/dropout/dropout.h"
#include "edgewise/kernels/embedding/embed.h"
#include "edgewise/kernels/norm/add_norm.h"
#include "edgewise/kernels/recurrence/ssru.h"

// The passes over memory between matrix products, for 4096 tokens. Bytes per second count each byte that a pass must
// read or write once; passes/copy measures the limit of the machine.
namespace edgewise::kernels {
namespace {

constexpr std::int64_t kTokens = 4096;
constexpr std::int64_t kVocabulary = 10'000;

struct PassSize {
  std::int64_t model_size;
  double dropout_rate;
};

template <typename T>
std::vector<T> random_values(std::int64_t count) {
  RandomStream random(1);
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) value = static_cast<T>(static_cast<float>(random.uniform()));
  return values;
}

void report_bytes(benchmark::State& state, const PassSize& size, std::int64_t bytes_per_value) {
  state.SetBytesProcessed(state.iterations() * kTokens * size.model_size * bytes_per_value);
}

void copy(benchmark::State& state, const PassSize& size) {
  const std::int64_t count = kTokens * size.model_size;
  const auto in = random_values<float>(count);
  std::vector<float> out(in.size());
  for (auto _ : state) {
    parallel_for(count, 1, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(out.data() + begin, in.data() + begin, static_cast<std::size_t>(end - begin) * sizeof(float));
    });
    benchmark::ClobberMemory();
  }
  report_bytes(state, size, 2 * sizeof(float));
}

void apply_dropout(benchmark::State& state, const PassSize& size) {
  const std::int64_t count = kTokens * size.model_size;
  const auto in = random_values<float>(count);
  std::vector<float> out(in.size());
  for (auto _ : state) {
    dropout({size.dropout_rate, 1, 2}, count, in.data(), out.data());
    benchmark::ClobberMemory();
  }
  report_bytes(state, size, 2 * sizeof(float));
}

// The arguments of add_norm_forward and add_norm_backward.
template <typename Y, typename N>
struct AddNormProblem {
  explicit AddNormProblem(std::int64_t model_size) : size(model_size) {}

  std::int64_t size;
  std::vector<float> x = random_values<float>(kTokens * size);
  std::vector<Y> y = random_values<Y>(kTokens * size);
  std::vector<float> gain = random_values<float>(size);
  std::vector<float> sum = x;
  std::vector<N> normed = random_values<N>(kTokens * size);
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
void run_add_norm_forward(benchmark::State& state, const PassSize& size) {
  AddNormProblem<Y, N> problem(size.model_size);
  for (auto _ : state) {
    add_norm_forward(problem.forward(size.dropout_rate));
    benchmark::ClobberMemory();
  }
  report_bytes(state, size, 2 * sizeof(float) + sizeof(Y) + sizeof(N));
}

template <typename Y, typename N>
void run_add_norm_backward(benchmark::State& state, const PassSize& size) {
  AddNormProblem<Y, N> problem(size.model_size);
  for (auto _ : state) {
    add_norm_backward(problem.backward(size.dropout_rate));
    benchmark::ClobberMemory();
  }
  report_bytes(state, size, 3 * sizeof(float) + sizeof(Y) + sizeof(N));
}

void run_embed(benchmark::State& state, const PassSize& pass) {
  const std::int64_t size = pass.model_size;
  const auto weight = random_values<float>(kVocabulary * size);
  const auto table = random_values<float>(100 * size);
  std::vector<float> out(static_cast<std::size_t>(kTokens * size));
  std::vector<float> grad_weight = weight;
  std::vector<std::int64_t> tokens, positions;
  RandomStream random(2);
  for (std::int64_t t = 0; t < kTokens; ++t) {
    tokens.push_back(static_cast<std::int64_t>(random.next_below(kVocabulary)));
    positions.push_back(t % 100);
  }
  const Dropout dropout = {pass.dropout_rate, 1, 2};
  for (auto _ : state) {
    embed_forward(EmbedForward<float>{weight.data(), tokens.data(), table.data(), positions.data(), out.data(), kTokens,
                                      size, 2.0f, dropout});
    embed_backward(EmbedBackward<float>{tokens.data(), out.data(), grad_weight.data(), kTokens, size, 2.0f, dropout});
    benchmark::ClobberMemory();
  }
  report_bytes(state, pass, 6 * sizeof(float));
}

/// Runs an SSRU over texts of 32 tokens, forward and backward.
template <typename T>
void run_ssru(benchmark::State& state, const PassSize& pass) {
  constexpr std::int64_t kTextTokens = 32;
  const std::int64_t size = pass.model_size;
  const auto forget = random_values<T>(kTokens * size);
  const auto input = random_values<T>(kTokens * size);
  std::vector<T> out = input;
  std::vector<T> grad_forget = input;
  std::vector<T> grad_input = input;
  auto cells = random_values<float>(kTokens * size);
  std::vector<const float*> before;
  std::vector<float*> cell;
  std::vector<std::uint8_t> continues;
  for (std::int64_t t = 0; t < kTokens; ++t) {
    continues.push_back(t % kTextTokens == 0 ? 0 : 1);
    cell.push_back(cells.data() + t * size);
    before.push_back(continues.back() == 0 ? nullptr : cell.back() - size);
  }
  for (auto _ : state) {
    ssru(SsruRows<T>{.rows = kTokens,
                     .columns = size,
                     .stride = size,
                     .forget = forget.data(),
                     .input = input.data(),
                     .before = before.data(),
                     .state = cell.data(),
                     .out = out.data()});
    ssru_gradient(SsruGradient<T>{.rows = kTokens,
                                  .columns = size,
                                  .forget = forget.data(),
                                  .input = input.data(),
                                  .state = cells.data(),
                                  .continues = continues.data(),
                                  .grad_out = out.data(),
                                  .grad_forget = grad_forget.data(),
                                  .grad_input = grad_input.data()});
    benchmark::ClobberMemory();
  }
  report_bytes(state, pass, 2 * sizeof(float) + 8 * sizeof(T));
}

void add(const std::string& name, const std::vector<double>& dropout_rates,
         void (*run)(benchmark::State&, const PassSize&)) {
  for (const std::int64_t model_size : {128, 512}) {
    for (const double rate : dropout_rates) {
      const bool is_smallest = model_size == 128 && rate == dropout_rates.front();
      const BenchmarkSize size = is_smallest ? BenchmarkSize::kSmallest : BenchmarkSize::kLarger;
      const auto percent = static_cast<int>(100 * rate + 0.5);
      add_benchmark("passes/" + name + "/size:" + std::to_string(model_size) + "/dropout:" + std::to_string(percent),
                    size, [=](benchmark::State& state) {
                      run(state, {model_size, rate});
                    });
    }
  }
}

const bool kRegistered = [] {
  add("copy", {0.0}, copy);
  add("dropout", {0.0, 0.1}, apply_dropout);
  add("add_norm/fp32/forward", {0.0, 0.1}, run_add_norm_forward<float, float>);
  add("add_norm/bf16/forward", {0.0, 0.1}, run_add_norm_forward<BFloat16, BFloat16>);
  add("add_norm/fp32/backward", {0.0, 0.1}, run_add_norm_backward<float, float>);
  add("add_norm/bf16/backward", {0.0, 0.1}, run_add_norm_backward<BFloat16, BFloat16>);
  add("embed", {0.0, 0.1}, run_embed);
  add("ssru/fp32", {0.0}, run_ssru<float>);
  add("ssru/bf16", {0.0}, run_ssru<BFloat16>);
  return true;
}();

}  // namespace
}  // namespace edgewise::kernels
