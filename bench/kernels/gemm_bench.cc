// SPDX-License-Identifier: Apache-2.0
// The products of a linear layer at the sizes of Transformers, for numbers of tokens that fill blocks and that do not.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "edgewise/base/threads.h"
#include "edgewise/kernels/gemm/gemm.h"

namespace edgewise::kernels {
namespace {

struct Layer {
  std::int64_t inputs, outputs;
};

template <typename T>
struct Tensors {
  Tensors(std::int64_t tokens, const Layer& layer)
      : x(static_cast<std::size_t>(tokens * layer.inputs), T(0.5f)),
        y(static_cast<std::size_t>(tokens * layer.outputs), T(0.5f)),
        weight(static_cast<std::size_t>(layer.inputs * layer.outputs), 0.5f),
        bias(static_cast<std::size_t>(layer.outputs), 0.5f) {}

  std::vector<T> x, y;
  std::vector<float> weight, bias;
  PackedMatrix<T> packed;
};

// Packing is part of the first two, as in training, where weights are new in each step.
template <typename T>
void forward(Tensors<T>& t, std::int64_t tokens, const Layer& layer) {
  t.packed.pack({t.weight.data(), layer.inputs, MatrixLayout::kColumns}, layer.inputs, layer.outputs);
  gemm(Gemm<T, T>{.rows = tokens,
                  .columns = layer.outputs,
                  .depth = layer.inputs,
                  .a = {t.x.data(), layer.inputs},
                  .packed_b = &t.packed,
                  .bias = t.bias.data(),
                  .out = t.y.data(),
                  .out_stride = layer.outputs});
}

template <typename T>
void gradient_of_x(Tensors<T>& t, std::int64_t tokens, const Layer& layer) {
  t.packed.pack({t.weight.data(), layer.inputs}, layer.outputs, layer.inputs);
  gemm(Gemm<T, T>{.rows = tokens,
                  .columns = layer.inputs,
                  .depth = layer.outputs,
                  .a = {t.y.data(), layer.outputs},
                  .packed_b = &t.packed,
                  .out = t.x.data(),
                  .out_stride = layer.inputs});
}

template <typename T>
void gradient_of_weight(Tensors<T>& t, std::int64_t tokens, const Layer& layer) {
  gemm(Gemm<T, float>{.rows = layer.outputs,
                      .columns = layer.inputs,
                      .depth = tokens,
                      .a = {t.y.data(), layer.outputs, MatrixLayout::kColumns},
                      .b = {t.x.data(), layer.inputs},
                      .result = GemmResult::kAdd,
                      .out = t.weight.data(),
                      .out_stride = layer.inputs});
}

template <typename T>
using Product = void (*)(Tensors<T>&, std::int64_t, const Layer&);

template <typename T>
void add(const std::string& name, Product<T> product) {
  for (const Layer& layer :
       {Layer{128, 128}, {128, 256}, {256, 128}, {256, 1024}, {1024, 256}, {512, 512}, {512, 2048}, {2048, 512}}) {
    for (const std::int64_t tokens : {4096, 3989}) {
      const std::string full_name = name + "/" + std::to_string(layer.inputs) + "/" + std::to_string(layer.outputs) +
                                    "/tokens:" + std::to_string(tokens);
      benchmark::RegisterBenchmark(full_name.c_str(), [=](benchmark::State& state) {
        set_num_threads(available_cores());
        Tensors<T> tensors(tokens, layer);
        for (auto _ : state) product(tensors, tokens, layer);
        state.counters["FLOP/s"] = benchmark::Counter(2.0 * static_cast<double>(tokens * layer.inputs * layer.outputs),
                                                      benchmark::Counter::kIsIterationInvariantRate);
      })->UseRealTime();
    }
  }
}

const bool kAdded = [] {
  add<float>("gemm/fp32/forward", forward<float>);
  add<float>("gemm/fp32/gradient_of_x", gradient_of_x<float>);
  add<float>("gemm/fp32/gradient_of_weight", gradient_of_weight<float>);
  add<BFloat16>("gemm/bf16/forward", forward<BFloat16>);
  add<BFloat16>("gemm/bf16/gradient_of_x", gradient_of_x<BFloat16>);
  add<BFloat16>("gemm/bf16/gradient_of_weight", gradient_of_weight<BFloat16>);
  return true;
}();

}  // namespace
}  // namespace edgewise::kernels
