// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "edgewise/data/batches.h"

namespace edgewise {

/// The virtual ranks of a process: `count` of `total`, from number `first` on. A training step is defined by its
/// virtual ranks and not by the processes that share them, so that any number of processes computes the same bits.
struct VirtualRanks {
  std::int64_t total = 1;
  std::int64_t first = 0;
  std::int64_t count = 1;

  bool operator==(const VirtualRanks&) const = default;
};

/// The batches of a process: a stream for each of its virtual ranks, over the rank's share of the pairs (SourceShare).
/// Each stream has epochs of its own, whose numbers of batches differ a little.
class BatchShares {
 public:
  /// A window of all virtual ranks together has `options.window` pairs. Throws Error as BatchStream does, and if a
  /// share has no pair.
  BatchShares(const std::shared_ptr<const PairSource>& source, const BatchOptions& options, std::uint64_t seed,
              const VirtualRanks& ranks = {});

  const VirtualRanks& ranks() const { return ranks_; }

  /// Returns the streams of the process in the order of their virtual ranks.
  std::span<BatchStream> streams() { return streams_; }

  /// Returns the size of the batch with the highest cost in the present windows of the process.
  BatchTokens largest_batch(const std::function<double(const BatchTokens&)>& cost) const;

  /// Returns a hash of pairs, options, seed and number of virtual ranks, equal in all processes: positions are valid
  /// only in batches with the same fingerprint.
  std::uint64_t fingerprint() const { return fingerprint_; }

 private:
  VirtualRanks ranks_;
  std::uint64_t fingerprint_;
  std::vector<BatchStream> streams_;
};

}  // namespace edgewise
