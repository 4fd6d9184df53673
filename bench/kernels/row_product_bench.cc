// SPDX-License-Identifier: Apache-2.0
// The products of translating, by panels (RowProduct) and by oneDNN (gemm), on one thread. EDGEWISE_KERNELS=avx2
// measures both on AVX2.
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "bench/kernels/add_benchmark.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/gemm/gemm.h"
#include "edgewise/kernels/gemm/row_product.h"

namespace edgewise::kernels {
namespace {

struct Sizes {
  std::int64_t rows, depth, columns;
};

template <typename T>
std::vector<T> constants(std::int64_t count) {
  return std::vector<T>(static_cast<std::size_t>(count), static_cast<T>(1.0f));
}

template <typename T>
void run_panels(benchmark::State& state, const Sizes& sizes) {
  const std::vector<float> weights = constants<float>(sizes.depth * sizes.columns);
  const std::vector<T> a = constants<T>(sizes.rows * sizes.depth);
  const std::vector<float> scales = constants<float>(sizes.rows);
  std::vector<float> out(static_cast<std::size_t>(sizes.rows * sizes.columns));
  RowProductWeights<T> b;
  b.pack({weights.data(), sizes.depth, MatrixLayout::kColumns}, sizes.depth, sizes.columns);
  for (auto _ : state) {
    multiply_rows(RowProduct<T>{.rows = sizes.rows, .a = a.data(), .scales = scales.data(), .b = &b}, out.data());
  }
}

template <typename T>
void run_onednn(benchmark::State& state, const Sizes& sizes) {
  const std::vector<float> weights = constants<float>(sizes.depth * sizes.columns);
  const std::vector<T> a = constants<T>(sizes.rows * sizes.depth);
  std::vector<float> out(static_cast<std::size_t>(sizes.rows * sizes.columns));
  PackedMatrix<T> b;
  b.pack({weights.data(), sizes.depth, MatrixLayout::kColumns}, sizes.depth, sizes.columns);
  for (auto _ : state) {
    gemm(Gemm<T, float>{.rows = sizes.rows,
                        .columns = sizes.columns,
                        .depth = sizes.depth,
                        .a = {a.data(), sizes.depth},
                        .packed_b = &b,
                        .out = out.data(),
                        .out_stride = sizes.columns});
  }
}

using Run = void (*)(benchmark::State&, const Sizes&);

void add(const std::string& name, Run run) {
  for (const Sizes& layer : {Sizes{0, 512, 512}, {0, 512, 2048}, {0, 2048, 512}, {0, 512, 32'000}}) {
    for (const std::int64_t rows : {1, 8, 32, 128}) {
      const Sizes sizes = {rows, layer.depth, layer.columns};
      const bool is_smallest = rows == 1 && sizes.columns * sizes.depth == 512 * 512;
      const std::string full_name = name + "/" + std::to_string(sizes.depth) + "/" + std::to_string(sizes.columns) +
                                    "/rows:" + std::to_string(rows);
      add_benchmark(full_name, is_smallest ? BenchmarkSize::kSmallest : BenchmarkSize::kLarger,
                    [=](benchmark::State& state) {
                      set_num_threads(1);
                      run(state, sizes);
                      state.counters["FLOP/s"] =
                          benchmark::Counter(2.0 * static_cast<double>(sizes.rows * sizes.depth * sizes.columns),
                                             benchmark::Counter::kIsIterationInvariantRate);
                    });
    }
  }
}

const bool kRegistered = [] {
  add("row_product/fp32/panels", run_panels<float>);
  add("row_product/fp32/onednn", run_onednn<float>);
  add("row_product/bf16/panels", run_panels<BFloat16>);
  add("row_product/bf16/onednn", run_onednn<BFloat16>);
  add("row_product/int8/panels", run_panels<std::int8_t>);
  return true;
}();

}  // namespace
}  // namespace edgewise::kernels
