// SPDX-License-Identifier: Apache-2.0
#include "edgewise/data/batch_shares.h"

#include <algorithm>

#include "edgewise/base/error.h"
#include "edgewise/base/random.h"
#include "edgewise/data/pair_source.h"

namespace edgewise {
namespace {

BatchStream make_stream(const std::shared_ptr<const PairSource>& source, const BatchOptions& options,
                        std::uint64_t seed, std::int64_t rank, std::int64_t count) {
  if (count == 1) return {source, options, seed};
  try {
    return {std::make_shared<SourceShare>(source, rank, count), options, seed};
  } catch (const NoPairsError&) {
    fail(
        "BatchShares: virtual_ranks is {} and rank {} has no training pair, needs at least one for each rank; set a "
        "smaller train.virtual_ranks",
        count, rank);
  }
}

}  // namespace

BatchShares::BatchShares(const std::shared_ptr<const PairSource>& source, const BatchOptions& options,
                         std::uint64_t seed, const VirtualRanks& ranks)
    : ranks_(ranks), fingerprint_(batches_fingerprint(*source, options, seed)) {
  check(ranks.first >= 0 && ranks.count >= 1 && ranks.first + ranks.count <= ranks.total,
        "BatchShares: ranks are {} from {} on, needs at least one of {}", ranks.count, ranks.first, ranks.total);
  if (ranks.total > 1) fingerprint_ = mix(fingerprint_, static_cast<std::uint64_t>(ranks.total));
  BatchOptions of_share = options;
  if (options.window > 0) of_share.window = std::max<std::int64_t>(options.window / ranks.total, 1);
  streams_.reserve(static_cast<std::size_t>(ranks.count));
  for (std::int64_t rank = ranks.first; rank < ranks.first + ranks.count; ++rank) {
    streams_.push_back(make_stream(source, of_share, seed, rank, ranks.total));
  }
}

BatchTokens BatchShares::largest_batch(const std::function<double(const BatchTokens&)>& cost) const {
  std::vector<BatchTokens> largest;
  largest.reserve(streams_.size());
  for (const BatchStream& stream : streams_) largest.push_back(stream.largest_batch(cost));
  return std::ranges::max(largest, {}, cost);
}

}  // namespace edgewise
