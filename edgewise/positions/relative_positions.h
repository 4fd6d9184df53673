// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

// Numbers that are added to the scores of self-attention, by the distance between query and key.
namespace edgewise {

/// Returns ALiBi's slopes of the heads (Press et al. 2022): the score of distance d is smaller by slope * |d|. For n
/// heads, where n is a power of two, the slopes are 2^(-8 i / n) for i = 1, ..., n. For another n, the slopes of the
/// power of two below n come first, and then every other one of the next power of two, from its first one on.
std::vector<double> alibi_slopes(std::int64_t num_heads);

/// T5's division of distances into buckets, each of which has a trained number for each head (Raffel et al. 2020).
struct DistanceBuckets {
  std::int64_t count;         // even
  std::int64_t max_distance;  // from this distance on, all distances share a bucket
  bool is_causal;             // whether a query's keys are those before it: else half of the buckets are for later keys

  /// Returns the bucket of `distance`, the query's position minus the key's. The first half of the buckets of a
  /// direction is for one distance each; the distances of the others grow exponentially. Negative distances, which
  /// causal attention does not have, share bucket 0 there.
  std::int64_t bucket(std::int64_t distance) const;

  /// Returns the buckets of the distances from -max_distance to max_distance; farther ones have those of the ends.
  std::vector<std::int64_t> table() const;
};

}  // namespace edgewise
