// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "edgewise/base/bfloat16.h"
#include "edgewise/device/stream.h"

namespace edgewise::kernels {

/// The arguments of out = x W^T + bias. T is float or BFloat16. Shapes: R = rows, I = inputs, O = outputs.
template <typename T>
struct LinearProduct {
  std::int64_t rows;
  std::int64_t inputs;
  std::int64_t outputs;
  const T* x;             // [R, I]
  const T* weight;        // [O, I]
  const float* bias;      // [O], or null
  float* out;             // [R, O]
  bool is_added = false;  // whether the result is added to `out`
};

/// Matrix products on a GPU by cuBLASLt, and in the emulator by plain loops. One thread at a time may use an object.
class GpuProducts {
 public:
  /// All products run in `stream`. Throws std::runtime_error if the GPU cannot be used.
  explicit GpuProducts(device::Stream stream);
  ~GpuProducts();
  GpuProducts(const GpuProducts&) = delete;
  GpuProducts& operator=(const GpuProducts&) = delete;

  /// Begins a product. All pointers are to memory of the device, at multiples of 16 bytes. Sums are computed in float,
  /// without TF32. The bits of a row do not depend on the other rows, because the sizes of the weight alone choose the
  /// algorithm, which adds the products of an output in one order. Throws std::runtime_error if there is no such
  /// algorithm.
  template <typename T>
  void multiply(const LinearProduct<T>& p);

 private:
  class Library;
  std::unique_ptr<Library> library_;
};

}  // namespace edgewise::kernels
