// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/kernels/gemm.h"

// The ways that kernels::gemm takes beside the reference; a packed matrix decides by how it was packed.
namespace edgewise::kernels::cpu {

/// By oneDNN in the types given.
template <typename T, typename Out>
void gemm_as_given(const Gemm<T, Out>& product);

/// Block by block in float, whatever the types.
template <typename Out>
void gemm_in_floats(const Gemm<BFloat16, Out>& product);

}  // namespace edgewise::kernels::cpu
