// SPDX-License-Identifier: Apache-2.0
#include "edgewise/data/source_share.h"

#include <utility>

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

// With at least this many visits in each share, the pairs of two shares differ by a few percent at most.
constexpr std::int64_t kManyVisits = 32;

}  // namespace

SourceShare::SourceShare(std::shared_ptr<const PairSource> source, std::int64_t share, std::int64_t count)
    : source_(std::move(source)), share_(share), count_(count) {
  check(share >= 0 && share < count, "SourceShare: share is {}, needs a number from 0 to {}", share, count - 1);
}

std::vector<Visit> SourceShare::visits() const {
  std::vector<Visit> all = source_->visits();
  const bool has_whole_visits = std::ssize(all) >= kManyVisits * count_;
  if (!has_whole_visits) {
    for (Visit& visit : all) {
      visit.part += visit.parts * share_;
      visit.parts *= count_;
      visit.pairs /= static_cast<double>(count_);
    }
    return all;
  }
  std::vector<Visit> own;
  for (std::int64_t i = share_; i < std::ssize(all); i += count_) own.push_back(all[static_cast<std::size_t>(i)]);
  return own;
}

}  // namespace edgewise
