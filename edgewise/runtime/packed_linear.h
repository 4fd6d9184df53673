// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/kernels/gemm/activation.h"
#include "edgewise/kernels/gemm/epilogue.h"
#include "edgewise/kernels/gemm/gemm.h"
#include "edgewise/kernels/gemm/row_product.h"
#include "edgewise/kernels/loss/logits_tile.h"
#include "edgewise/kernels/simd/scratch.h"
#include "edgewise/options/layer_options.h"
#include "edgewise/runtime/weight_matrix.h"

// Matrix products with packed weights, and their operands and results, in buffers that are reused from step to step. T
// is the element type of a product's operands: float, BFloat16 or std::int8_t. Shapes: R = rows, N = columns.
namespace edgewise {

/// Returns the kernels' name of a model's activation.
inline kernels::GemmActivation gemm_activation(Activation activation) {
  switch (activation) {
    case Activation::kRelu:
      return kernels::GemmActivation::kRelu;
    case Activation::kGelu:
      return kernels::GemmActivation::kGelu;
    case Activation::kSilu:
      return kernels::GemmActivation::kSilu;
    case Activation::kGeluTanh:
      return kernels::GemmActivation::kGeluTanh;
  }
  fail("gemm_activation: activation is {}, needs one of enum_names", static_cast<int>(activation));
}

template <typename T>
inline constexpr bool kIsInt8 = std::is_same_v<T, std::int8_t>;

/// The left operand of a product.
template <typename T>
struct Activations {
  T* values;                // [R, N]
  float* scales = nullptr;  // [R], for std::int8_t only
};

/// Memory for floats, [rows, columns]. It grows to the largest size requested, and growing discards the contents.
class FloatBuffer {
 public:
  float* allocate(std::int64_t rows, std::int64_t columns) { return values_.elements<float>(rows * columns); }

 private:
  kernels::AlignedBuffer values_;
};

/// Memory for Activations, which grows as a FloatBuffer does.
template <typename T>
class ActivationBuffer {
 public:
  Activations<T> allocate(std::int64_t rows, std::int64_t columns) {
    Activations<T> activations = {values_.elements<T>(rows * columns)};
    if constexpr (kIsInt8<T>) activations.scales = scales_.elements<float>(rows);
    return activations;
  }

 private:
  kernels::AlignedBuffer values_;
  kernels::AlignedBuffer scales_;
};

/// Parameters of a norm, whose bias may be empty. A norm without a gain is switched off: it returns its input.
struct NormParameters {
  std::vector<float> gain;
  std::vector<float> bias;
  kernels::NormFormula formula = {};
};

inline const NormParameters kNoNorm;

/// Computes x W + b. T is the type of x and of the packed weights.
template <typename T>
class PackedLinear {
 public:
  PackedLinear() = default;

  /// Packs `weight`, [out, in], and `bias`, [out] or empty. Weights that are stored as T, with scales for std::int8_t,
  /// are packed unchanged. With `is_bf16`, other weights are first rounded to the nearest bf16 number.
  PackedLinear(const WeightRows& weight, std::vector<float> bias, bool is_bf16);

  /// Makes a product of as many inputs as `other` has, with the same input multiplier and `out` results, which are 0.
  static PackedLinear make_like(const PackedLinear& other, std::int64_t out);

  /// Makes result `to` that of result `from` of `other`, which make_like has had: the bits are equal.
  void copy_result(std::int64_t to, const PackedLinear& other, std::int64_t from);

  std::int64_t out() const { return out_; }

  /// Returns the input multiplier of std::int8_t (base/files/stored_parameters.h); 0: none. The operands of products
  /// must have been multiplied by it.
  float input_multiplier() const { return input_multiplier_; }

  /// Writes x W + b to `out`, [R, out()].
  void write(std::int64_t rows, const Activations<T>& x, float* out) const;

  /// Writes activation(x W + b) to `out`, the operand of a product with `next`.
  void activate(std::int64_t rows, const Activations<T>& x, kernels::GemmActivation activation,
                const PackedLinear& next, const Activations<T>& out) const;

  /// Writes activation(g) * y to `out`, [R, out() / 2], the operand of a product with `next`, where g are the first and
  /// y the last columns of x W + b.
  void gate(std::int64_t rows, const Activations<T>& x, kernels::GemmActivation activation, const PackedLinear& next,
            const Activations<T>& out) const;

  /// Adds x W + b to `sum`, [R, out()], and writes norm(sum) to `out`, the operand of the next product. With
  /// `norms_sum`, norm(sum) also replaces `sum`.
  void add_and_norm(std::int64_t rows, const Activations<T>& x, float* sum, const NormParameters& norm, bool norms_sum,
                    const Activations<T>& out) const;

  /// Writes the results of layers with the same `x` one after the other: [R, out()] of the first, then of the second.
  static void write_all(std::span<const PackedLinear> layers, std::int64_t rows, const Activations<T>& x, float* out);

  /// Returns whether the threads divide the rows of x W + b. If not, they divide its columns.
  bool splits_rows(std::int64_t rows, const Activations<T>& x) const;

  /// Calls kernels::reduce_logits_tile with `tile`, whose columns and values become those of x W + b. Computes the
  /// logits block by block of rows, so that each block is reduced while it is in cache.
  void reduce_tile(const Activations<T>& x, kernels::LogitsTile tile) const;

 private:
  void pack(const WeightRows& weight, bool is_bf16);
  kernels::RowProduct<T> product(std::int64_t rows, const Activations<T>& x, kernels::GemmActivation activation) const;

  std::int64_t out_ = 0;
  float input_multiplier_ = 0;
  kernels::RowProductWeights<T> weight_;
  std::vector<float> bias_;
};

/// Writes values, [R, columns], to `out`, converted to the type of a product's operand: with a multiplier, as
/// RowEpilogue::multiplier says.
template <typename T>
void convert_operand(std::int64_t rows, std::int64_t columns, const float* values, float multiplier,
                     const Activations<T>& out);

/// Writes norm(values), [R, columns], to `out`, converted to the type of a product's operand. With `norms_values`,
/// norm(values) also replaces `values`.
template <typename T>
void norm_and_round(std::int64_t rows, std::int64_t columns, float* values, const NormParameters& norm,
                    bool norms_values, const Activations<T>& out);

/// Does so for norm(sum), where `sum` is first increased by `values`; both are [R, columns]. With `norms_sum`,
/// norm(sum) also replaces `sum`.
template <typename T>
void add_and_norm(std::int64_t rows, std::int64_t columns, const float* values, float* sum, const NormParameters& norm,
                  bool norms_sum, const Activations<T>& out);

}  // namespace edgewise
