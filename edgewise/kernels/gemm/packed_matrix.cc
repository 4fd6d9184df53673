// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/gemm/packed_matrix.h"

#include <algorithm>
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

void copy_to_rows(const Matrix<float>& from, std::int64_t depth, std::int64_t columns, float* to) {
  const bool is_in_rows = from.layout == MatrixLayout::kRows;
  const std::int64_t row_step = is_in_rows ? from.stride : 1;
  const std::int64_t column_step = is_in_rows ? 1 : from.stride;
  for (std::int64_t k = 0; k < depth; ++k) {
    for (std::int64_t n = 0; n < columns; ++n) *to++ = from.data[k * row_step + n * column_step];
  }
}

void pack_values(PackedContent& content, const Matrix<float>& values) {
  auto& [type, layout, depth, columns, bytes] = content;
  if (layout == RightLayout::kRows) {
    copy_to_rows(values, depth, columns, bytes.elements<float>(depth * columns));
  } else {
    const std::size_t size = onednn::count_packed_bytes(type, depth, columns);
    onednn::pack(type, depth, columns, values, bytes.reserve_bytes(size));
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
  const ScopedTimer timer("packing");
  static thread_local AlignedBuffer buffer;
  const bool is_plain = instruction_set() == InstructionSet::kReference || depth * columns == 0;
  PackedContent& content = *content_;
  content.depth = depth;
  content.columns = columns;
  content.layout = is_plain ? RightLayout::kRows : RightLayout::kPacked;
  const bool is_rounded = std::is_same_v<T, BFloat16> && (is_plain || !has_native_bf16());
  content.type = is_rounded ? ElementType::kFloat : onednn::kElementType<T>;
  pack_values(content, is_rounded ? round_to_bf16(from, depth, columns, buffer) : from);
}

template <typename T>
std::vector<float> PackedMatrix<T>::unpack() const {
  const auto& [type, layout, depth, columns, bytes] = *content_;
  std::vector<float> values(static_cast<std::size_t>(depth * columns));
  if (layout == RightLayout::kPacked) {
    onednn::unpack(type, depth, columns, bytes.data(), values.data());
  } else {
    std::copy_n(static_cast<const float*>(bytes.data()), values.size(), values.begin());
  }
  return values;
}

template class PackedMatrix<float>;
template class PackedMatrix<BFloat16>;

}  // namespace edgewise::kernels
