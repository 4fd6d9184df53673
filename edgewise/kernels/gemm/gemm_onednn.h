// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

#include "edgewise/kernels/gemm/gemm.h"

// What gemm.cc asks of oneDNN, without oneDNN's headers.
namespace edgewise::kernels::onednn {

enum class ElementType : std::uint8_t { kFloat, kBFloat16, kInt8, kInt32 };

template <typename T>
inline constexpr ElementType kElementType = ElementType::kFloat;
template <>
inline constexpr ElementType kElementType<BFloat16> = ElementType::kBFloat16;
template <>
inline constexpr ElementType kElementType<std::int8_t> = ElementType::kInt8;
template <>
inline constexpr ElementType kElementType<std::int32_t> = ElementType::kInt32;

enum class RightLayout : std::uint8_t { kRows, kColumns, kPacked };

/// All that a compiled product depends on.
struct ProductShape {
  ElementType type;
  ElementType out_type;
  MatrixLayout a_layout;
  RightLayout b_layout;
  GemmActivation activation;
  GemmResult result;
  bool has_bias;
  int num_threads;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t depth;
  std::int64_t a_stride;
  std::int64_t b_stride;  // 0 where b is packed
  std::int64_t out_stride;

  // An order, to find compiled products by.
  auto operator<=>(const ProductShape&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 sees a 0 in it
};

struct ProductData {
  const void* a;
  const void* b;
  const float* bias;
  void* out;
};

/// Whether oneDNN can multiply bf16 on this machine, and whether that is faster than to multiply floats.
bool has_bf16();
bool bf16_is_fast();

/// Whether there are instructions for products of small matrices as a whole, of bf16 and of 8 bits.
bool has_amx();

/// Whether sums of products of 8 bits are exact: without instructions for them pairs are summed in 16 bits.
bool int8_is_exact();

/// Compiles the product, unless one of that shape is kept, and runs it.
void run(const ProductShape& shape, const ProductData& data);

/// Bytes of a packed matrix [K, N].
std::size_t packed_size(ElementType type, std::int64_t depth, std::int64_t columns);

void pack(ElementType type, std::int64_t depth, std::int64_t columns, const Matrix<float>& from, void* to);
void pack(std::int64_t depth, std::int64_t columns, const Matrix<std::int8_t>& from, void* to);

/// To floats in rows without gaps.
void unpack(ElementType type, std::int64_t depth, std::int64_t columns, const void* from, float* to);

}  // namespace edgewise::kernels::onednn
