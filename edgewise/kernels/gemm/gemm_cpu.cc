// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>

#include "edgewise/base/profile.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/gemm/gemm.h"
#include "edgewise/kernels/gemm/gemm_parts.h"
#include "edgewise/kernels/simd/instruction_set.h"

namespace edgewise::kernels {
namespace {

std::optional<bool> forced_native_bf16;

template <typename Out>
bool needs_float_products(const Gemm<BFloat16, Out>& product) {
  return product.packed_b != nullptr ? product.packed_b->content().type == onednn::ElementType::kFloat
                                     : !has_native_bf16();
}

using onednn::ElementType;
using onednn::RightLayout;

/// Copies a matrix without gaps and rounds its values to bf16.
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
  for (std::int64_t k = 0; k < depth; ++k) {
    for (std::int64_t n = 0; n < columns; ++n) *to++ = from.at(k, n);
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

cpu::ForcedNativeBf16::ForcedNativeBf16(bool is_native) : previous_(std::exchange(forced_native_bf16, is_native)) {}
cpu::ForcedNativeBf16::~ForcedNativeBf16() { forced_native_bf16 = previous_; }

bool has_native_bf16() {
  return forced_native_bf16.value_or(instruction_set() == InstructionSet::kAvx512 && onednn::has_fast_bf16());
}

void prepare_gemm() {
  constexpr std::int64_t kSize = 64;
  const std::vector<float> ones(kSize * kSize, 1.0f);
  std::vector<float> result(ones.size());
  const Matrix<float> matrix{.data = ones.data(), .stride = kSize};
  gemm(Gemm<float, float>{.rows = kSize,
                          .columns = kSize,
                          .depth = kSize,
                          .a = matrix,
                          .b = matrix,
                          .out = result.data(),
                          .out_stride = kSize});
}

template <typename T, typename Out>
void gemm(const Gemm<T, Out>& product) {
  const ScopedTimer timer("products");
  if (product.rows == 0 || product.columns == 0) return;
  const bool is_reference = instruction_set() == InstructionSet::kReference;
  if (is_reference || product.depth == 0) return reference::gemm(product);
  if constexpr (std::is_same_v<Out, float>) {
    if (cpu::can_sum_outer_products(product)) return cpu::sum_outer_products(product);
  }
  if constexpr (std::is_same_v<T, BFloat16>) {
    if (needs_float_products(product)) return cpu::gemm_in_floats(product);
  }
  cpu::run_in_blocks(cpu::slice_all(product));
}

template void gemm(const Gemm<float, float>&);
template void gemm(const Gemm<BFloat16, BFloat16>&);
template void gemm(const Gemm<BFloat16, float>&);

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
