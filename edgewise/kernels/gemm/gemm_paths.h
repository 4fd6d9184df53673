// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "edgewise/kernels/gemm/gemm.h"

// The ways that kernels::gemm takes beside the reference; a packed matrix decides by how it was packed.
namespace edgewise::kernels::cpu {

/// By oneDNN in the types given.
template <typename T, typename Out>
void gemm_as_given(const Gemm<T, Out>& product);

/// Block by block in float, whatever the types.
template <typename Out>
void gemm_in_floats(const Gemm<BFloat16, Out>& product);

/// Whether oneDNN has bf16 products for this machine, fast or slow.
bool can_multiply_bf16();

/// Makes bf16_is_native() say so while it lives, so that tests can take both ways. Not while kernels run.
class ForcedNativeBf16 {
 public:
  explicit ForcedNativeBf16(bool is_native);
  ~ForcedNativeBf16();
  ForcedNativeBf16(const ForcedNativeBf16&) = delete;
  ForcedNativeBf16& operator=(const ForcedNativeBf16&) = delete;

 private:
  std::optional<bool> before_;
};

}  // namespace edgewise::kernels::cpu
