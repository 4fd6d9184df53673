// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "edgewise/base/config/fields.h"

namespace edgewise {

/// Number format of matrix products in training. Stored parameters, norms, softmax and loss are always fp32.
enum class Precision { kFp32, kBf16 };

inline constexpr auto enum_names(Precision) {
  return std::array{EnumName{Precision::kFp32, "fp32"}, EnumName{Precision::kBf16, "bf16"}};
}

/// Number format of matrix products in translating. Without gradients, 8-bit integers are precise enough too.
enum class RuntimePrecision { kFp32, kBf16, kInt8 };

inline constexpr auto enum_names(RuntimePrecision) {
  return std::array{EnumName{RuntimePrecision::kFp32, "fp32"}, EnumName{RuntimePrecision::kBf16, "bf16"},
                    EnumName{RuntimePrecision::kInt8, "int8"}};
}

}  // namespace edgewise
