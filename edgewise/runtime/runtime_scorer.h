// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "edgewise/runtime/weights.h"
#include "edgewise/search/scorer.h"

namespace edgewise {

/// Implements RuntimeModel::make_scorer for one type of weights. `weights` must outlive the scorer.
template <typename T>
std::unique_ptr<Scorer> make_runtime_scorer(const Weights<T>& weights, const CrossHeads& recorded_heads);

/// The part of make_runtime_scorer for Universal Transformers. `recorded_heads.layer` is ignored: steps return
/// the weights of each node's last ponder step.
template <typename T>
std::unique_ptr<Scorer> make_universal_runtime_scorer(const Weights<T>& weights, const CrossHeads& recorded_heads);

}  // namespace edgewise
