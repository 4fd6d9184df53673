// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "edgewise/graph/batch.h"

namespace edgewise {

/// One pass of an epoch over a block of pairs, or over a part of the block. A corpus with weight w has ceil(w) visits
/// per block and epoch.
struct Visit {
  std::int64_t block = 0;
  std::int64_t copy = 0;   // number of the visit among the visits of this block
  double pairs = 0.0;      // expected number of pairs
  std::int64_t part = 0;   // the pairs of the block whose number is `part` modulo `parts`
  std::int64_t parts = 1;  // at least 1

  bool has_pair(std::int64_t number) const { return number % parts == part; }

  bool operator==(const Visit&) const = default;
};

/// A source of encoded training pairs in blocks. Several threads may read blocks in any order.
class PairSource {
 public:
  virtual ~PairSource() = default;

  /// Returns the visits of an epoch, in order of block and copy. Every epoch has the same visits.
  virtual std::vector<Visit> visits() const = 0;

  /// Returns the pairs of a visit, a function of (visit, seed, epoch). Their number may be below `visit.pairs`, even 0.
  /// The parts of a block have together the pairs of the whole block.
  virtual std::vector<TokenPair> read(const Visit& visit, std::uint64_t seed, std::int64_t epoch) const = 0;

  /// Returns whether all epochs have the same pairs.
  virtual bool is_same_every_epoch() const = 0;

  /// Returns a hash of everything that determines the pairs.
  virtual std::uint64_t fingerprint() const = 0;
};

/// A source of pairs that are in memory.
class PairsInMemory final : public PairSource {
 public:
  /// Throws Error for no pairs, and for a pair with an empty input or an output of fewer than two tokens.
  explicit PairsInMemory(std::vector<TokenPair> pairs, std::int64_t block_size = 1024);

  std::vector<Visit> visits() const override;
  std::vector<TokenPair> read(const Visit& visit, std::uint64_t seed, std::int64_t epoch) const override;
  bool is_same_every_epoch() const override { return true; }
  std::uint64_t fingerprint() const override;

 private:
  std::vector<TokenPair> pairs_;
  std::int64_t block_size_;
};

/// Throws Error, beginning with `caller`, for a pair with an empty input, unless the first pair has none either, and
/// for an output of fewer than two tokens.
void check_pairs(const char* caller, std::span<const TokenPair> pairs);

/// One of `count` shares of a source: each pair of an epoch is in exactly one of them. A share has whole visits if
/// there are many, so that it reads only its own blocks; otherwise it has every `count`-th pair of each block.
class SourceShare final : public PairSource {
 public:
  /// Throws Error for a share number that is not from 0 to count - 1.
  SourceShare(std::shared_ptr<const PairSource> source, std::int64_t share, std::int64_t count);

  std::vector<Visit> visits() const override;
  std::vector<TokenPair> read(const Visit& visit, std::uint64_t seed, std::int64_t epoch) const override {
    return source_->read(visit, seed, epoch);
  }
  bool is_same_every_epoch() const override { return source_->is_same_every_epoch(); }
  std::uint64_t fingerprint() const override { return source_->fingerprint(); }

 private:
  std::shared_ptr<const PairSource> source_;
  std::int64_t share_;
  std::int64_t count_;
};

}  // namespace edgewise
