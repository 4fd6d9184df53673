// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "edgewise/base/profile.h"
#include "edgewise/kernels/gemm/gemm.h"
#include "edgewise/kernels/gemm/gemm_dispatch.h"
#include "edgewise/kernels/gemm/gemm_slice.h"
#include "edgewise/kernels/simd/instruction_set.h"

namespace edgewise::kernels {
namespace {

std::optional<bool> forced_native_bf16;

template <typename Out>
bool needs_float_products(const Gemm<BFloat16, Out>& product) {
  return product.packed_b != nullptr ? product.packed_b->content().type == onednn::ElementType::kFloat
                                     : !has_native_bf16();
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

}  // namespace edgewise::kernels
