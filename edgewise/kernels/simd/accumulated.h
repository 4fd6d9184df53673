// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include "edgewise/base/bfloat16.h"

namespace edgewise::kernels {

/// What sums over values of type T are made in: T itself, but float for bf16, whose 8 bits no sum survives.
template <typename T>
using Accumulated = std::conditional_t<std::is_same_v<T, BFloat16>, float, T>;

}  // namespace edgewise::kernels
