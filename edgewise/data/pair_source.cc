// SPDX-License-Identifier: Apache-2.0
#include "edgewise/data/pair_source.h"

#include <algorithm>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/random.h"

namespace edgewise {

void check_pairs(const char* caller, std::span<const TokenPair> pairs) {
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const bool has_input = !pairs[i].input.empty() || pairs[0].input.empty();
    check(has_input && pairs[i].output.size() >= 2,
          "{}: pair {} has {} input and {} output tokens, needs at least 1 and 2", caller, i, pairs[i].input.size(),
          pairs[i].output.size());
  }
}

PairsInMemory::PairsInMemory(std::vector<TokenPair> pairs, std::int64_t block_size)
    : pairs_(std::move(pairs)), block_size_(block_size) {
  check(!pairs_.empty(), "BatchStream: pairs are empty, needs at least one");
  check(block_size >= 1, "PairsInMemory: block_size is {}, needs at least 1", block_size);
  check_pairs("BatchStream", pairs_);
}

std::vector<Visit> PairsInMemory::visits() const {
  const auto count = static_cast<std::int64_t>(pairs_.size());
  std::vector<Visit> visits;
  for (std::int64_t begin = 0; begin < count; begin += block_size_) {
    visits.push_back(
        {.block = begin / block_size_, .pairs = static_cast<double>(std::min(block_size_, count - begin))});
  }
  return visits;
}

std::vector<TokenPair> PairsInMemory::read(const Visit& visit, std::uint64_t /*seed*/, std::int64_t /*epoch*/) const {
  const std::int64_t begin = visit.block * block_size_;
  const std::int64_t count = std::min(block_size_, std::ssize(pairs_) - begin);
  std::vector<TokenPair> pairs;
  for (std::int64_t i = 0; i < count; ++i) {
    if (visit.has_pair(i)) pairs.push_back(pairs_[static_cast<std::size_t>(begin + i)]);
  }
  return pairs;
}

std::uint64_t PairsInMemory::fingerprint() const {
  std::uint64_t hash = static_cast<std::uint64_t>(block_size_);
  const auto add = [&hash](std::uint64_t value) { hash = mix(hash, value); };
  for (const TokenPair& pair : pairs_) {
    for (const auto* side : {&pair.input, &pair.output}) {
      add(side->size());
      for (const std::int64_t token : *side) add(static_cast<std::uint64_t>(token));
    }
    for (const auto& [encoder, decoder] : pair.links) {
      add(static_cast<std::uint64_t>(encoder));
      add(static_cast<std::uint64_t>(decoder));
    }
  }
  return hash;
}

SourceShare::SourceShare(std::shared_ptr<const PairSource> source, std::int64_t share, std::int64_t count)
    : source_(std::move(source)), share_(share), count_(count) {
  check(share >= 0 && share < count, "SourceShare: share is {}, needs a number from 0 to {}", share, count - 1);
}

std::vector<Visit> SourceShare::visits() const {
  // With at least this many visits in each share, the pairs of two shares differ by a few percent at most.
  constexpr std::int64_t kManyVisits = 32;
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
