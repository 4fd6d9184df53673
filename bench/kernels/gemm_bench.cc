// SPDX-License-Identifier: Apache-2.0
// The products of a linear layer at the sizes of Transformers, for a multiple of the block size (4096 tokens) and for
// an odd number of tokens (3989).
#include <string>
#include <vector>

#include "bench/kernels/add_benchmark.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/gemm/gemm.h"

namespace edgewise::kernels {
namespace {

struct Layer {
  std::int64_t inputs, outputs;
};

template <typename T>
struct LayerTensors {
  LayerTensors(std::int64_t tokens, const Layer& layer)
      : x(static_cast<std::size_t>(tokens * layer.inputs), T(0.5f)),
        y(static_cast<std::size_t>(tokens * layer.outputs), T(0.5f)),
        weight(static_cast<std::size_t>(layer.inputs * layer.outputs), 0.5f),
        bias(static_cast<std::size_t>(layer.outputs), 0.5f) {}

  std::vector<T> x, y;
  std::vector<float> weight, bias;
  PackedMatrix<T> packed;
};

// Includes packing of the weight, which training repeats in each step.
template <typename T>
void forward(LayerTensors<T>& t, std::int64_t tokens, const Layer& layer) {
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

// Includes packing of the weight, which training repeats in each step.
template <typename T>
void gradient_of_x(LayerTensors<T>& t, std::int64_t tokens, const Layer& layer) {
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
void gradient_of_weight(LayerTensors<T>& t, std::int64_t tokens, const Layer& layer) {
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
using LayerPass = void (*)(LayerTensors<T>&, std::int64_t, const Layer&);

template <typename T>
void add(const std::string& name, LayerPass<T> pass) {
  for (const Layer& layer :
       {Layer{128, 128}, {128, 256}, {256, 128}, {256, 1024}, {1024, 256}, {512, 512}, {512, 2048}, {2048, 512}}) {
    for (const std::int64_t tokens : {3989, 4096}) {
      const bool is_smallest = layer.inputs == 128 && layer.outputs == 128 && tokens == 3989;
      const std::string full_name = name + "/" + std::to_string(layer.inputs) + "/" + std::to_string(layer.outputs) +
                                    "/tokens:" + std::to_string(tokens);
      const BenchmarkSize size = is_smallest ? BenchmarkSize::kSmallest : BenchmarkSize::kLarger;
      add_benchmark(full_name, size, [=](benchmark::State& state) {
        set_num_threads(available_cores());
        LayerTensors<T> tensors(tokens, layer);
        for (auto _ : state) pass(tensors, tokens, layer);
        state.counters["FLOP/s"] = benchmark::Counter(2.0 * static_cast<double>(tokens * layer.inputs * layer.outputs),
                                                      benchmark::Counter::kIsIterationInvariantRate);
      });
    }
  }
}

const bool kRegistered = [] {
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
