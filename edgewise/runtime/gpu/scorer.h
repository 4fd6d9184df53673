// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "edgewise/runtime/gpu/weights.h"
#include "edgewise/search/scorer.h"

namespace edgewise {

/// Returns a scorer that computes with `weights`, which are in memory of a GPU and must outlive it.
/// GpuModel::make_scorer describes it.
template <typename T>
std::unique_ptr<Scorer> make_gpu_scorer(const GpuWeights<T>& weights, const CrossHeads& recorded_heads,
                                        std::int64_t gpu);

}  // namespace edgewise
