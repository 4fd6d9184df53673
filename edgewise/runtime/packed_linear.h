// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "edgewise/runtime/activations.h"
#include "edgewise/kernels/gemm/finish_rows.h"
#include "edgewise/kernels/gemm/gemm.h"
#include "edgewise/kernels/gemm/row_product.h"
#include "edgewise/kernels/loss/vocabulary_tile.h"

namespace edgewise {

/// A norm's parameters; one without a gain is switched off.
struct NormParameters {
  std::vector<float> gain;
  std::vector<float> bias;
  kernels::NormFormula formula = {};
};

/// x W + b with weights packed for products with rows of T: float, BFloat16 or std::int8_t.
template <typename T>
class PackedLinear {
 public:
  PackedLinear() = default;

  /// `weight` is [out, in], as it is stored; `bias` is [out], or empty. With `is_bf16` the weights of a product of
  /// floats are rounded to bf16.
  PackedLinear(const std::vector<float>& weight, std::vector<float> bias, std::int64_t in, std::int64_t out,
               bool is_bf16 = false);

  std::int64_t out() const { return out_; }

  /// Rows without gaps; up to kSpareRows behind them may be overwritten.
  void write(std::int64_t rows, const Activations<T>& x, float* to) const;

  /// The activation of it, for the next product to read.
  void activate(std::int64_t rows, const Activations<T>& x, kernels::GemmActivation activation,
                const Activations<T>& to) const;

  /// Adds it to `sum`, and norms that. The result is written to `sum` itself where `norms_sum`, and in any case to
  /// `to`, for the next product to read.
  void add_and_norm(std::int64_t rows, const Activations<T>& x, float* sum, const NormParameters& norm, bool norms_sum,
                    const Activations<T>& to) const;

  /// As logits of a tile of the vocabulary: kernels::see_tile of that, whose columns and logits are filled in.
  void see(const Activations<T>& x, kernels::VocabularyTile tile) const;

 private:
  kernels::RowProduct<T> product(std::int64_t rows, const Activations<T>& x, kernels::GemmActivation activation) const;

  std::int64_t out_ = 0;
  kernels::RowMatrix<T> weight_;
  std::vector<float> bias_;
};

/// Norms `values` in place where `norms_values`, and rounds the result for a product.
template <typename T>
void norm_and_round(std::int64_t rows, std::int64_t columns, float* values, const NormParameters& norm,
                    bool norms_values, const Activations<T>& to);

}  // namespace edgewise
