// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "edgewise/data/pair_source.h"

namespace edgewise {

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
