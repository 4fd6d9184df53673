// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/kernels/gemm/epilogue.h"
#include "edgewise/kernels/gemm/gemm.h"
#include "edgewise/kernels/gemm/panels.h"
#include "edgewise/kernels/loss/logits_tile.h"
#include "edgewise/kernels/simd/scratch.h"

// Products of rows with constant weights, fused with the operation that reads the product: each thread applies the
// operation to a block of rows while the block is in its cache. T is the type of the factors: float, BFloat16, or
// std::int8_t with scales for rows and columns. Shapes: R = rows, N = columns, K = depth.
namespace edgewise::kernels {

/// Returns whether products of BFloat16 are faster than products of float. The result is false without bf16
/// instructions, and on Intel, where they are slow.
bool has_fast_bf16_row_products();

/// The right side [K, N] of row products, packed for the instruction set in use.
template <typename T>
class RowProductWeights {
 public:
  /// Packs [K, N], rounded to T. For std::int8_t each column is first divided by a scale that makes its largest
  /// magnitude 127. Throws Error if T is std::int8_t and K is above kMaxInt8Depth.
  void pack(const Matrix<float>& from, std::int64_t depth, std::int64_t columns);

  /// Packs [K, N] without rounding. Throws as pack() does. From is T or, for a T of float, BFloat16. The columns of
  /// std::int8_t are numbers that were divided by `scales`, [N].
  template <typename From>
  void pack_exactly(const Matrix<From>& from, std::int64_t depth, std::int64_t columns,
                    std::span<const float> scales = {});

  /// Makes [K, N] of zeros with the depth and the format of `other`, into which columns of `other` can be copied.
  void allocate_like(const RowProductWeights& other, std::int64_t columns);

  /// Replaces a column by a column of `other`, which allocate_like has had. Products with both have the same bits.
  void copy_column(std::int64_t to, const RowProductWeights& other, std::int64_t from);

  std::int64_t depth() const { return depth_; }
  std::int64_t columns() const { return columns_; }

  /// Returns the scales of the columns, [N], for std::int8_t.
  const float* scales() const { return scales_.data(); }

  PanelFormat format() const { return format_; }
  const void* panels() const { return panels_.data(); }

 private:
  template <typename From>
  void pack_into_panels(const Matrix<From>& from, std::int64_t depth, std::int64_t columns);

  std::int64_t depth_ = 0;
  std::int64_t columns_ = 0;
  std::vector<float> scales_;
  PanelFormat format_ = PanelFormat::kNarrow;
  AlignedBuffer panels_;
};

/// The product activation(a b + bias). On every instruction set, the bits of a result row depend neither on the other
/// rows and their number nor on the number of threads. Two instruction sets may give different bits.
template <typename T>
struct RowProduct {
  std::int64_t rows;
  const T* a;                     // [R, K], without gaps
  const float* scales = nullptr;  // [R], for std::int8_t
  const RowProductWeights<T>* b;
  const float* bias = nullptr;  // [N], or null
  GemmActivation activation = GemmActivation::kNone;
};

/// Writes a product to `out`, [R, N] without gaps.
template <typename T>
void multiply_rows(const RowProduct<T>& product, float* out);

/// Returns whether multiply_rows() gives each thread some rows and all columns. If not, each thread computes all rows
/// and some columns.
template <typename T>
bool splits_rows(const RowProduct<T>& product);

/// Writes products of the same left side one after the other: [R, N] of the first, then [R, N] of the second. The
/// threads divide the columns of all products.
template <typename T>
void multiply_all(std::span<const RowProduct<T>> products, float* out);

/// Computes a product and applies `epilogue` with the product as `epilogue.values`.
template <typename T>
void multiply_with_epilogue(const RowProduct<T>& product, const RowEpilogue<T>& epilogue);

/// Computes a product and reduces it by reduce_logits_tile() with the product as `tile.logits`.
template <typename T>
void multiply_and_reduce(const RowProduct<T>& product, const LogitsTile& tile);

/// Divides each column of [K, N] by a scale that makes its largest magnitude 127, and rounds. Returns the result, in
/// columns and stored in `buffer`. Writes the scales of the columns, [N], to `scales`.
Matrix<std::int8_t> quantise_columns(const Matrix<float>& from, std::int64_t depth, std::int64_t columns,
                                     std::vector<float>& scales, AlignedBuffer& buffer);

}  // namespace edgewise::kernels
