// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "edgewise/runtime/gpu/array.h"
#include "edgewise/runtime/weights.h"

// The parameters of a Transformer in memory of the GPU. T, the type of operands of products, is float or BFloat16.
namespace edgewise {

/// A norm. A norm without a gain is switched off: it returns its input.
struct GpuNorm {
  GpuArray<float> gain;
  GpuArray<float> bias;
  kernels::NormFormula formula = {};

  bool is_on() const { return gain.data() != nullptr; }
};

/// Computes x W^T + b.
template <typename T>
struct GpuLinear {
  GpuArray<T> weight;    // [outputs, inputs]
  GpuArray<float> bias;  // [outputs], or empty
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
};

/// The backend of parameters in memory of a GPU.
template <typename T>
struct OnGpu {};

template <typename T>
struct ParameterTypes<OnGpu<T>> {
  using Linear = GpuLinear<T>;
  using Norm = GpuNorm;
  using Floats = GpuArray<float>;
};

using GpuSide = SideEmbeddingsOf<GpuArray<float>>;

/// Weights whose output projection has more outputs than tokens, so that each row of logits begins at 16 bytes.
template <typename T>
struct GpuWeights {
  std::unique_ptr<const GpuStream> stream;  // has copied the parameters, and frees them
  Weights<OnGpu<T>> weights;

  const GpuLinear<T>& output_projection() const { return weights.output_projection.front(); }
};

}  // namespace edgewise
