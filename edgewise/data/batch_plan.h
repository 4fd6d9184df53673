// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/base/random.h"
#include "edgewise/graph/batch.h"
#include "edgewise/options/batch_options.h"

namespace edgewise {

/// The numbers of the pairs in each of some batches.
using BatchPlan = std::vector<std::vector<std::int64_t>>;

/// Throws Error, beginning with `caller`, for options that limit neither tokens nor sentences.
void check_limits(const char* caller, const BatchOptions& options);

/// Each pair once, pairs of like length together, in an order that is a function of pairs, options and stream.
/// O(pairs · log pairs).
BatchPlan plan_batches(std::span<const TokenPair> pairs, const BatchOptions& options, RandomStream random);

/// Each pair once, in their order.
BatchPlan plan_in_order(std::span<const TokenPair> pairs, const BatchOptions& options);

}  // namespace edgewise
