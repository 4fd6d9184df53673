// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "edgewise/kernels/gemm/gemm.h"

// Matrix products by oneDNN ("matmul" in its API), without oneDNN's headers. The bits of a result row may depend on the
// number of rows. If EDGEWISE_KERNELS names an instruction set, oneDNN uses no instructions beyond it.
namespace edgewise::kernels::onednn {

enum class ElementType : std::uint8_t { kFloat, kBFloat16 };

template <typename T>
inline constexpr ElementType kElementType = ElementType::kFloat;
template <>
inline constexpr ElementType kElementType<BFloat16> = ElementType::kBFloat16;

enum class RightLayout : std::uint8_t { kRows, kColumns, kPacked };

/// The arguments that oneDNN compiles a matmul for.
struct MatmulShape {
  ElementType type;
  ElementType out_type;
  MatrixLayout a_layout;
  RightLayout b_layout;
  GemmActivation activation;
  GemmResult result;
  bool has_bias;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t depth;
  std::int64_t a_stride;
  std::int64_t b_stride;
  std::int64_t out_stride;

  // The order of the map of compiled matmuls.
  auto operator<=>(const MatmulShape&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 finds a 0 in it
};

struct MatmulData {
  const void* a;
  const void* b;
  const float* bias;
  void* out;
};

/// Returns whether oneDNN can multiply bf16 on this machine.
bool has_bf16();

/// Returns whether oneDNN multiplies bf16 faster than floats on this machine.
bool has_fast_bf16();

/// Returns oneDNN's name of the best instructions that it uses, such as "avx512_core_bf16".
std::string_view instructions();

/// Returns whether oneDNN uses AMX, instructions that multiply small bf16 matrices.
bool has_amx();

/// Runs a matmul in this thread. Compiles it first if the cache has no compiled matmul of its shape.
void run(const MatmulShape& shape, const MatmulData& data);

/// Returns the bytes of a packed matrix [K, N].
std::size_t count_packed_bytes(ElementType type, std::int64_t depth, std::int64_t columns);

void pack(ElementType type, std::int64_t depth, std::int64_t columns, const Matrix<float>& from, void* to);

/// Converts a packed matrix to floats in rows without gaps.
void unpack(ElementType type, std::int64_t depth, std::int64_t columns, const void* from, float* to);

}  // namespace edgewise::kernels::onednn
