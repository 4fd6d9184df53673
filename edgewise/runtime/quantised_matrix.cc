// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/quantised_matrix.h"

#include "edgewise/kernels/gemm/quantise_columns.h"

namespace edgewise {

QuantisedMatrix quantise_rows(std::span<const float> values, std::int64_t columns) {
  using kernels::MatrixLayout;
  QuantisedMatrix matrix;
  kernels::AlignedBuffer buffer;
  const std::int64_t rows = std::ssize(values) / columns;
  // The rows of a weight are the columns of its product.
  const auto rounded =
      kernels::quantise_columns({values.data(), columns, MatrixLayout::kColumns}, columns, rows, matrix.scales, buffer);
  matrix.values.assign(rounded.data, rounded.data + rows * columns);
  return matrix;
}

}  // namespace edgewise
