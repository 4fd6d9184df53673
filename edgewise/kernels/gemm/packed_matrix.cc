// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/gemm/packed_matrix.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "edgewise/base/profile.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/simd/instruction_set.h"

namespace edgewise::kernels {
namespace {

using onednn::ElementType;
using onednn::RightLayout;

// Copies a matrix without gaps and rounds its values to bf16.
Matrix<float> round_to_bf16(const Matrix<float>& from, std::int64_t depth, std::int64_t columns,
                            AlignedBuffer& buffer) {
  const bool is_in_rows = from.layout == MatrixLayout::kRows;
  const std::int64_t rows = is_in_rows ? depth : columns;
  const std::int64_t width = is_in_rows ? columns : depth;
  auto* to = buffer.elements<float>(rows * width);
  parallel_for(rows, 1 + 16'384 / std::max<std::int64_t>(1, width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const float* values = from.data + row * from.stride;
      for (std::int64_t i = 0; i < width; ++i) to[row * width + i] = BFloat16(values[i]);
    }
  });
  return {to, width, from.layout};
}

// Element (k, n) of a matrix [K, N] is data[k * row + n * column].
struct ElementStrides {
  std::int64_t row, column;
};

template <typename T>
ElementStrides get_strides(const Matrix<T>& matrix) {
  return matrix.layout == MatrixLayout::kRows ? ElementStrides{matrix.stride, 1} : ElementStrides{1, matrix.stride};
}

template <typename T>
void copy_to_rows(const Matrix<T>& from, std::int64_t depth, std::int64_t columns, T* to) {
  const ElementStrides stride = get_strides(from);
  for (std::int64_t k = 0; k < depth; ++k) {
    for (std::int64_t n = 0; n < columns; ++n) *to++ = from.data[k * stride.row + n * stride.column];
  }
}

template <typename T>
void pack_values(PackedContent& content, const Matrix<T>& values) {
  const auto& [type, layout, depth, columns, bytes, scales] = content;
  if (layout == RightLayout::kRows) {
    copy_to_rows(values, depth, columns, content.bytes.elements<T>(depth * columns));
  } else {
    const std::size_t size = onednn::count_packed_bytes(type, depth, columns);
    onednn::pack(type, depth, columns, values, content.bytes.reserve_bytes(size));
  }
}

}  // namespace

Matrix<std::int8_t> quantise_columns(const Matrix<float>& from, std::int64_t depth, std::int64_t columns, float largest,
                                     std::vector<float>& scales, AlignedBuffer& buffer) {
  const ElementStrides stride = get_strides(from);
  auto* to = buffer.elements<std::int8_t>(depth * columns);
  scales.resize(static_cast<std::size_t>(columns));
  parallel_for(columns, 1 + 16'384 / std::max<std::int64_t>(1, depth), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      const float* values = from.data + n * stride.column;
      float largest_of_column = 0;
      for (std::int64_t k = 0; k < depth; ++k) {
        largest_of_column = std::max(largest_of_column, std::abs(values[k * stride.row]));
      }
      scales[n] = largest_of_column / largest;
      const float factor = largest_of_column > 0 ? largest / largest_of_column : 0.0f;
      for (std::int64_t k = 0; k < depth; ++k) {
        to[n * depth + k] = static_cast<std::int8_t>(std::lrintf(values[k * stride.row] * factor));
      }
    }
  });
  return {to, depth, MatrixLayout::kColumns};
}

template <typename T>
PackedMatrix<T>::PackedMatrix() : content_(std::make_unique<PackedContent>()) {}
template <typename T>
PackedMatrix<T>::~PackedMatrix() = default;
template <typename T>
PackedMatrix<T>::PackedMatrix(PackedMatrix&& other) noexcept = default;
template <typename T>
PackedMatrix<T>& PackedMatrix<T>::operator=(PackedMatrix&& other) noexcept = default;

template <typename T>
void PackedMatrix<T>::pack(const Matrix<float>& from, std::int64_t depth, std::int64_t columns) {
  const ScopedTimer timer("packing");
  static thread_local AlignedBuffer buffer;
  const bool is_plain = instruction_set() == InstructionSet::kReference || depth * columns == 0;
  PackedContent& content = *content_;
  content.depth = depth;
  content.columns = columns;
  content.layout = is_plain ? RightLayout::kRows : RightLayout::kPacked;
  if constexpr (std::is_same_v<T, std::int8_t>) {
    content.type = ElementType::kInt8;
    const float largest = onednn::has_exact_int8() ? 127.0f : 63.0f;
    pack_values(content, quantise_columns(from, depth, columns, largest, content.scales, buffer));
  } else {
    const bool is_rounded = std::is_same_v<T, BFloat16> && (is_plain || !has_native_bf16());
    content.type = is_rounded ? ElementType::kFloat : onednn::kElementType<T>;
    pack_values(content, is_rounded ? round_to_bf16(from, depth, columns, buffer) : from);
  }
}

template <typename T>
std::vector<float> PackedMatrix<T>::unpack() const {
  const auto& [type, layout, depth, columns, bytes, scales] = *content_;
  std::vector<float> values(static_cast<std::size_t>(depth * columns));
  if (layout == RightLayout::kPacked) {
    onednn::unpack(type, depth, columns, bytes.data(), values.data());
  } else if (type == ElementType::kInt8) {
    std::copy_n(static_cast<const std::int8_t*>(bytes.data()), values.size(), values.begin());
  } else {
    std::copy_n(static_cast<const float*>(bytes.data()), values.size(), values.begin());
  }
  return values;
}

template <typename T>
const float* PackedMatrix<T>::scales() const {
  return content_->scales.data();
}

template class PackedMatrix<float>;
template class PackedMatrix<BFloat16>;
template class PackedMatrix<std::int8_t>;

}  // namespace edgewise::kernels
