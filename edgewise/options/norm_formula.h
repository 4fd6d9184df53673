// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/options/layer_kinds.h"

namespace edgewise {

/// A kind of norm as kernels know it; Formula is kernels::NormFormula, which options do not see.
template <class Formula>
Formula norm_formula(NormKind kind, std::int64_t size, double epsilon) {
  const auto features = static_cast<double>(size);
  return kind == NormKind::kLayerNorm ? Formula::layer_norm(features, epsilon) : Formula::std_norm(features, epsilon);
}

}  // namespace edgewise
