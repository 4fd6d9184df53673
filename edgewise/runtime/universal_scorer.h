// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "edgewise/runtime/weights.h"
#include "edgewise/search/cross_heads.h"
#include "edgewise/search/scorer.h"

namespace edgewise {

/// RuntimeModel::scorer for a Universal Transformer: rows leave a step's products as soon as they have halted. Of
/// `attention`, the layer counts for nothing: a row shows its last step.
template <typename T>
std::unique_ptr<Scorer> make_universal_scorer(const Weights<T>& weights, const CrossHeads& attention);

}  // namespace edgewise
