// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "edgewise/runtime/weights.h"
#include "edgewise/search/cross_heads.h"
#include "edgewise/search/scorer.h"

namespace edgewise {

/// RuntimeModel::scorer for one type of weights, which must outlive it.
template <typename T>
std::unique_ptr<Scorer> make_runtime_scorer(const Weights<T>& weights, const CrossHeads& attention);

}  // namespace edgewise
