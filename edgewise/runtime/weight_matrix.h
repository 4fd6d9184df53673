// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "edgewise/base/bfloat16.h"

namespace edgewise {

class WeightMatrix;

/// Some rows of a WeightMatrix, which must outlive this object.
struct WeightRows {
  const WeightMatrix* matrix;
  std::int64_t first;
  std::int64_t count;
};

/// The weights of a linear layer, [rows, columns], in the type in which a file stores them. A row has the weights of
/// one output. The weights in a row of int8 are its integers times the scale of the row.
class WeightMatrix {
 public:
  using Values = std::variant<std::vector<float>, std::vector<BFloat16>, std::vector<std::int8_t>>;

  WeightMatrix() = default;

  /// `values` are [rows, columns]; `scales` are [rows] for int8, otherwise empty.
  WeightMatrix(Values values, std::vector<float> scales, std::int64_t columns);

  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  WeightRows all_rows() const { return {this, 0, rows_}; }
  WeightRows some_rows(std::int64_t first, std::int64_t count) const { return {this, first, count}; }

  /// Returns row number `row`; null if the matrix is of another type.
  template <typename T>
  const T* row(std::int64_t row) const {
    const auto* values = std::get_if<std::vector<T>>(&values_);
    return values == nullptr ? nullptr : values->data() + row * columns_;
  }

  /// Returns the scales of the rows, [rows], for int8.
  std::span<const float> scales() const { return scales_; }

  /// The input multiplier of int8 (base/files/stored_parameters.h); 0: none.
  float input_multiplier() const { return input_multiplier_; }
  void set_input_multiplier(float multiplier) { input_multiplier_ = multiplier; }

  /// Returns a matrix of `rows` rows: row i of this matrix becomes row places[i], and the other rows are zero.
  WeightMatrix place_rows(std::span<const std::int64_t> places, std::int64_t rows) const;

  /// Returns a matrix of `columns` columns: column i of this matrix becomes column places[i], and the others are zero.
  WeightMatrix place_columns(std::span<const std::int64_t> places, std::int64_t columns) const;

  /// Appends the rows of a matrix with as many columns. Matrices of different types become float. Throws Error for int8
  /// with different input multipliers, because both matrices are factors of one product.
  void append(const WeightMatrix& more);

  /// Returns the weights in some rows, [count, columns].
  std::vector<float> to_floats(std::int64_t first, std::int64_t count) const;

  /// Returns all weights, and leaves this matrix empty.
  std::vector<float> take_floats();

 private:
  /// Returns the matrix with the input multiplier of this one.
  WeightMatrix with_multiplier(WeightMatrix matrix) const;

  Values values_;
  std::vector<float> scales_;
  float input_multiplier_ = 0;
  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
};

/// A matrix in 8 bits. The value of an element is the integer times the scale of its row.
struct QuantisedMatrix {
  std::vector<std::int8_t> values;  // [rows, columns]
  std::vector<float> scales;        // [rows]
};

/// Rounds a matrix, [rows, columns], as a product in int8 rounds its weights: the scale of a row makes its largest
/// magnitude 127.
QuantisedMatrix quantise_rows(std::span<const float> values, std::int64_t columns);

}  // namespace edgewise
