// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/cpu/packed_matrix.h"

#include <algorithm>
#include <type_traits>

#include "edgewise/base/profile.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/instruction_set.h"

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

void copy_in_rows(const Matrix<float>& from, std::int64_t depth, std::int64_t columns, float* to) {
  const std::int64_t row_step = from.layout == MatrixLayout::kRows ? from.stride : 1;
  const std::int64_t column_step = from.layout == MatrixLayout::kRows ? 1 : from.stride;
  for (std::int64_t k = 0; k < depth; ++k) {
    for (std::int64_t n = 0; n < columns; ++n) *to++ = from.data[k * row_step + n * column_step];
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
  constexpr bool kIsFloat = std::is_same_v<T, float>;
  const bool is_native = kIsFloat || bf16_is_native();
  const Matrix<float> values = is_native ? from : rounded(from, depth, columns, room);

  PackedContent& content = *content_;
  content.type = !kIsFloat && is_native ? ElementType::kBFloat16 : ElementType::kFloat;
  content.depth = depth;
  content.columns = columns;
  if (instruction_set() == InstructionSet::kReference || depth * columns == 0) {
    content.layout = RightLayout::kRows;
    copy_in_rows(values, depth, columns, content.bytes.elements<float>(depth * columns));
  } else {
    content.layout = RightLayout::kPacked;
    onednn::pack(content.type, depth, columns, values,
                 content.bytes.of_size(onednn::packed_size(content.type, depth, columns)));
  }
}

template <typename T>
std::vector<float> PackedMatrix<T>::unpacked() const {
  const auto& [type, layout, depth, columns, bytes] = *content_;
  std::vector<float> values(static_cast<std::size_t>(depth * columns));
  if (layout == RightLayout::kRows) {
    std::copy_n(static_cast<const float*>(bytes.data()), values.size(), values.begin());
  } else {
    onednn::unpack(type, depth, columns, bytes.data(), values.data());
  }
  return values;
}

template class PackedMatrix<float>;
template class PackedMatrix<BFloat16>;

}  // namespace edgewise::kernels
