// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/gemm/packed_matrix.h"

#include <algorithm>
#include <type_traits>

#include "edgewise/base/profile.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/gemm/quantise.h"
#include "edgewise/kernels/simd/instruction_set.h"

namespace edgewise::kernels {
namespace {

using onednn::ElementType;
using onednn::RightLayout;

// The same matrix without gaps, its values rounded to bf16.
Matrix<float> rounded(const Matrix<float>& from, std::int64_t depth, std::int64_t columns, AlignedBytes& room) {
  const bool is_in_rows = from.layout == MatrixLayout::kRows;
  const std::int64_t rows = is_in_rows ? depth : columns;
  const std::int64_t width = is_in_rows ? columns : depth;
  auto* to = room.elements<float>(rows * width);
  parallel_for(rows, 1 + 16'384 / std::max<std::int64_t>(1, width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const float* values = from.data + row * from.stride;
      for (std::int64_t i = 0; i < width; ++i) to[row * width + i] = BFloat16(values[i]);
    }
  });
  return {to, width, from.layout};
}

// Element (k, n) of [K, N] is at k * row + n * column.
struct Steps {
  std::int64_t row, column;
};

template <typename T>
Steps steps(const Matrix<T>& matrix) {
  return matrix.layout == MatrixLayout::kRows ? Steps{matrix.stride, 1} : Steps{1, matrix.stride};
}

template <typename T>
void copy_in_rows(const Matrix<T>& from, std::int64_t depth, std::int64_t columns, T* to) {
  const Steps step = steps(from);
  for (std::int64_t k = 0; k < depth; ++k) {
    for (std::int64_t n = 0; n < columns; ++n) *to++ = from.data[k * step.row + n * step.column];
  }
}

void pack_values(PackedContent& content, const Matrix<float>& values) {
  const auto& [type, layout, depth, columns, bytes, scales] = content;
  if (layout == RightLayout::kRows) {
    copy_in_rows(values, depth, columns, content.bytes.elements<float>(depth * columns));
  } else {
    onednn::pack(type, depth, columns, values, content.bytes.of_size(onednn::packed_size(type, depth, columns)));
  }
}

void pack_values(PackedContent& content, const Matrix<std::int8_t>& values) {
  const auto& [type, layout, depth, columns, bytes, scales] = content;
  if (layout == RightLayout::kRows) {
    copy_in_rows(values, depth, columns, content.bytes.elements<std::int8_t>(depth * columns));
  } else {
    onednn::pack(depth, columns, values, content.bytes.of_size(onednn::packed_size(type, depth, columns)));
  }
}

}  // namespace

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
  const TimedWork timed("packing");
  static thread_local AlignedBytes room;
  const bool is_plain = instruction_set() == InstructionSet::kReference || depth * columns == 0;
  PackedContent& content = *content_;
  content.depth = depth;
  content.columns = columns;
  content.layout = is_plain ? RightLayout::kRows : RightLayout::kPacked;
  if constexpr (std::is_same_v<T, std::int8_t>) {
    content.type = ElementType::kInt8;
    const float largest = onednn::int8_is_exact() ? 127.0f : 63.0f;
    pack_values(content, cpu::quantised(from, depth, columns, largest, content.scales, room));
  } else {
    const bool is_rounded = std::is_same_v<T, BFloat16> && (is_plain || !bf16_is_native());
    content.type = is_rounded ? ElementType::kFloat : onednn::kElementType<T>;
    pack_values(content, is_rounded ? rounded(from, depth, columns, room) : from);
  }
}

template <typename T>
std::vector<float> PackedMatrix<T>::unpacked() const {
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
std::int64_t PackedMatrix<T>::depth() const {
  return content_->depth;
}

template <typename T>
std::int64_t PackedMatrix<T>::columns() const {
  return content_->columns;
}

template <typename T>
const float* PackedMatrix<T>::scales() const {
  return content_->scales.data();
}

template class PackedMatrix<float>;
template class PackedMatrix<BFloat16>;
template class PackedMatrix<std::int8_t>;

}  // namespace edgewise::kernels
