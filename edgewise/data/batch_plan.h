// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/base/random.h"
#include "edgewise/graph/pair_graphs.h"
#include "edgewise/options/batch_options.h"

namespace edgewise {

/// Lists the pairs of each batch by their numbers.
using BatchPlan = std::vector<std::vector<std::int64_t>>;

/// Throws Error, beginning with `caller`, for negative options and for options without a limit of tokens or sentences.
void check_batch_options(const char* caller, const BatchOptions& options);

/// Puts each pair into one batch, pairs of similar length together, and shuffles the batches. `options.tokens` limits
/// both the inputs and the outputs of a batch. The plan is a function of the arguments. O(pairs · log pairs).
BatchPlan plan_batches(std::span<const PairLengths> pairs, const BatchOptions& options, RandomStream random);

/// Puts each pair into one batch and keeps the order of the pairs.
BatchPlan plan_in_order(std::span<const PairLengths> pairs, const BatchOptions& options);

}  // namespace edgewise
