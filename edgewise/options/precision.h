// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "edgewise/base/fields.h"

namespace edgewise {

/// In what numbers a model computes what costs most: products of matrices. Parameters at rest, norms, softmax and loss
/// are fp32 in all.
enum class Precision { kFp32, kBf16 };

inline constexpr auto enum_names(Precision) {
  return std::array{EnumName<Precision>{Precision::kFp32, "fp32"}, EnumName<Precision>{Precision::kBf16, "bf16"}};
}

/// The same for translating, where weights need no gradient: 8-bit integers do too.
enum class RuntimePrecision { kFp32, kBf16, kInt8 };

inline constexpr auto enum_names(RuntimePrecision) {
  return std::array{EnumName<RuntimePrecision>{RuntimePrecision::kFp32, "fp32"},
                    EnumName<RuntimePrecision>{RuntimePrecision::kBf16, "bf16"},
                    EnumName<RuntimePrecision>{RuntimePrecision::kInt8, "int8"}};
}

}  // namespace edgewise
