// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include "edgewise/base/bfloat16.h"

namespace edgewise::kernels {

/// The type of sums over values of type T: float for bf16, whose 8 significant bits are too few for sums, else T.
template <typename T>
using AccumulatorType = std::conditional_t<std::is_same_v<T, BFloat16>, float, T>;

}  // namespace edgewise::kernels
