// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/gemm/gemm.h"

#include <type_traits>
#include <utility>

#include "edgewise/base/profile.h"
#include "edgewise/kernels/gemm/gemm_paths.h"
#include "edgewise/kernels/gemm/gemm_product.h"
#include "edgewise/kernels/gemm/outer_products.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "edgewise/kernels/gemm/gemm_reference.h"

namespace edgewise::kernels {
namespace {

std::optional<bool> forced_native_bf16;

template <typename Out>
bool is_in_floats(const Gemm<BFloat16, Out>& product) {
  return product.packed_b != nullptr ? product.packed_b->content().type == onednn::ElementType::kFloat
                                     : !bf16_is_native();
}

}  // namespace

namespace cpu {

template <typename T, typename Out>
void gemm_as_given(const Gemm<T, Out>& product) {
  run_ragged(product_of(product));
}

template void gemm_as_given(const Gemm<float, float>&);
template void gemm_as_given(const Gemm<BFloat16, BFloat16>&);
template void gemm_as_given(const Gemm<BFloat16, float>&);
template void gemm_as_given(const Gemm<std::int8_t, std::int32_t>&);

bool can_multiply_bf16() { return onednn::has_bf16(); }

ForcedNativeBf16::ForcedNativeBf16(bool is_native) : before_(std::exchange(forced_native_bf16, is_native)) {}
ForcedNativeBf16::~ForcedNativeBf16() { forced_native_bf16 = before_; }

}  // namespace cpu

bool bf16_is_native() {
  return forced_native_bf16.value_or(instruction_set() == InstructionSet::kAvx512 && onednn::bf16_is_fast());
}

template <typename T, typename Out>
void gemm(const Gemm<T, Out>& product) {
  const TimedWork timed("products");
  if (product.rows == 0 || product.columns == 0) return;
  const bool is_reference = instruction_set() == InstructionSet::kReference;
  if (is_reference || product.depth == 0) return reference::gemm(product);
  if constexpr (std::is_same_v<Out, float>) {
    if (cpu::is_fast_sum_of_outer_products(product)) return cpu::sum_outer_products(product);
  }
  if constexpr (std::is_same_v<T, BFloat16>) {
    if (is_in_floats(product)) return cpu::gemm_in_floats(product);
  }
  cpu::gemm_as_given(product);
}

template void gemm(const Gemm<float, float>&);
template void gemm(const Gemm<BFloat16, BFloat16>&);
template void gemm(const Gemm<BFloat16, float>&);
template void gemm(const Gemm<std::int8_t, std::int32_t>&);

}  // namespace edgewise::kernels
