// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/weight_matrix.h"

#include <algorithm>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/kernels/gemm/row_product.h"

namespace edgewise {
namespace {

template <typename T>
void append_to(std::vector<T>& to, const std::vector<T>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

WeightMatrix::WeightMatrix(Values values, std::vector<float> scales, std::int64_t columns)
    : values_(std::move(values)),
      scales_(std::move(scales)),
      rows_(std::visit([](const auto& all) { return std::ssize(all); }, values_) / columns),
      columns_(columns) {}

WeightMatrix WeightMatrix::with_multiplier(WeightMatrix matrix) const {
  matrix.input_multiplier_ = input_multiplier_;
  return matrix;
}

WeightMatrix WeightMatrix::place_rows(std::span<const std::int64_t> places, std::int64_t rows) const {
  std::vector<float> scales(scales_.empty() ? 0 : static_cast<std::size_t>(rows), 1.0f);
  for (std::size_t i = 0; i < scales_.size(); ++i) scales[static_cast<std::size_t>(places[i])] = scales_[i];
  return std::visit(
      [&]<typename T>(const std::vector<T>& values) -> WeightMatrix {
        std::vector<T> placed(static_cast<std::size_t>(rows * columns_));
        for (std::int64_t i = 0; i < rows_; ++i) {
          std::copy_n(values.begin() + i * columns_, columns_,
                      placed.begin() + places[static_cast<std::size_t>(i)] * columns_);
        }
        return with_multiplier({std::move(placed), std::move(scales), columns_});
      },
      values_);
}

WeightMatrix WeightMatrix::place_columns(std::span<const std::int64_t> places, std::int64_t columns) const {
  return std::visit(
      [&]<typename T>(const std::vector<T>& values) -> WeightMatrix {
        std::vector<T> placed(static_cast<std::size_t>(rows_ * columns));
        for (std::int64_t row = 0; row < rows_; ++row) {
          const T* from = values.data() + row * columns_;
          T* to = placed.data() + row * columns;
          for (std::size_t i = 0; i < places.size(); ++i) to[places[i]] = from[i];
        }
        return with_multiplier({std::move(placed), scales_, columns});
      },
      values_);
}

void WeightMatrix::append(const WeightMatrix& more) {
  if (rows_ == 0) {
    *this = more;
    return;
  }
  check(input_multiplier_ == more.input_multiplier_,
        "WeightMatrix: matrices of one product have the input multipliers {} and {}, needs equal ones",
        input_multiplier_, more.input_multiplier_);
  if (values_.index() != more.values_.index()) {
    std::vector<float> floats = take_floats();
    append_to(floats, more.to_floats(0, more.rows_));
    *this = WeightMatrix(std::move(floats), {}, more.columns_);
    return;
  }
  std::visit([&]<typename T>(std::vector<T>& values) { append_to(values, std::get<std::vector<T>>(more.values_)); },
             values_);
  append_to(scales_, more.scales_);
  rows_ += more.rows_;
}

std::vector<float> WeightMatrix::to_floats(std::int64_t first, std::int64_t count) const {
  std::vector<float> floats(static_cast<std::size_t>(count * columns_));
  std::visit(
      [&]<typename T>(const std::vector<T>& values) {
        const T* from = values.data() + first * columns_;
        for (std::int64_t i = 0; i < count * columns_; ++i) floats[i] = static_cast<float>(from[i]);
      },
      values_);
  if (scales_.empty()) return floats;
  for (std::int64_t row = 0; row < count; ++row) {
    const float scale = scales_[static_cast<std::size_t>(first + row)];
    float* weights = floats.data() + row * columns_;
    for (std::int64_t i = 0; i < columns_; ++i) weights[i] *= scale;
  }
  return floats;
}

std::vector<float> WeightMatrix::take_floats() {
  auto* own = std::get_if<std::vector<float>>(&values_);
  std::vector<float> floats = own != nullptr ? std::move(*own) : to_floats(0, rows_);
  *this = WeightMatrix();
  return floats;
}

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
