// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "edgewise/base/random.h"
#include "edgewise/graph/batch.h"
#include "edgewise/options/batch_options.h"

namespace edgewise {

/// The numbers of the pairs in each of some batches.
using BatchPlan = std::vector<std::vector<std::int64_t>>;

/// The tokens of a pair's sides that count in a batch: the nodes of its graph.
struct PairSize {
  std::int64_t input = 0;
  std::int64_t output = 0;
};

inline PairSize size_of(const TokenPair& pair) { return {std::ssize(pair.input), std::ssize(pair.output) - 1}; }

/// Throws Error, beginning with `caller`, for options that limit neither tokens nor sentences.
void check_limits(const char* caller, const BatchOptions& options);

/// Each pair once, pairs of like length together, in an order that is a function of pairs, options and stream.
/// O(pairs · log pairs).
BatchPlan plan_batches(std::span<const PairSize> pairs, const BatchOptions& options, RandomStream random);

/// Each pair once, in their order.
BatchPlan plan_in_order(std::span<const PairSize> pairs, const BatchOptions& options);

}  // namespace edgewise
