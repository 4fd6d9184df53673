// SPDX-License-Identifier: Apache-2.0
#include "edgewise/data/epoch_window.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/threads.h"

namespace edgewise {
namespace {

double count_pairs(const std::vector<Visit>& visits) {
  double pairs = 0.0;
  for (const Visit& visit : visits) pairs += visit.pairs;
  return pairs;
}

RandomStream stream_of(std::uint64_t seed, std::int64_t epoch, std::int64_t number) {
  return RandomStream(mix(seed, static_cast<std::uint64_t>(epoch)), static_cast<std::uint64_t>(number));
}

/// Reads the pairs of visits: 16 visits at a time, each in one thread.
PackedPairs read_all(const PairSource& source, const std::vector<Visit>& visits, std::uint64_t seed,
                     std::int64_t epoch) {
  constexpr std::size_t kVisitsAtOnce = 16;
  constexpr double kMinPairsPerThread = 1000.0;
  const double pairs_per_visit = std::max(count_pairs(visits) / static_cast<double>(visits.size()), 1.0);
  const auto grain = static_cast<std::int64_t>(std::ceil(kMinPairsPerThread / pairs_per_visit));
  PackedPairs pairs;
  for (std::size_t begin = 0; begin < visits.size(); begin += kVisitsAtOnce) {
    std::vector<std::vector<TokenPair>> parts(std::min(kVisitsAtOnce, visits.size() - begin));
    parallel_for(std::ssize(parts), grain, [&](std::int64_t first, std::int64_t last) {
      for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i) {
        parts[i] = source.read(visits[begin + i], seed, epoch);
      }
    });
    for (const auto& part : parts) {
      for (const TokenPair& pair : part) pairs.add(pair);
    }
    if (begin == 0) pairs.reserve(count_pairs(visits));
  }
  return pairs;
}

}  // namespace

std::vector<std::vector<Visit>> split_epoch(std::vector<Visit> visits, std::int64_t max_pairs, std::uint64_t seed,
                                            std::int64_t epoch) {
  stream_of(seed, epoch, 0).shuffle(visits);
  const double all = count_pairs(visits);
  const double count = max_pairs > 0 ? std::max(std::ceil(all / static_cast<double>(max_pairs)), 1.0) : 1.0;
  std::vector<std::vector<Visit>> windows(1);
  double done = 0.0;
  for (const Visit& visit : visits) {
    if (done >= all / count * static_cast<double>(windows.size())) windows.emplace_back();
    windows.back().push_back(visit);
    done += visit.pairs;
  }
  for (auto& window : windows) {
    std::ranges::sort(window, {}, [](const Visit& visit) { return std::tuple(visit.block, visit.copy, visit.part); });
  }
  return windows;
}

EpochWindow load_window(const PairSource& source, const BatchOptions& options, std::uint64_t seed, std::int64_t epoch,
                        std::int64_t window, std::shared_ptr<const PackedPairs> all_pairs) {
  const std::vector<Visit> visits = source.visits();
  const auto windows = split_epoch(visits, options.window, seed, epoch);
  check(window >= 0 && window < std::ssize(windows), "load_window: window is {}, needs one below {}, those of epoch {}",
        window, windows.size(), epoch);
  const std::vector<Visit>& chosen = windows[static_cast<std::size_t>(window)];
  EpochWindow loaded{.epoch = epoch,
                     .window = window,
                     .num_windows = std::ssize(windows),
                     .share = count_pairs(chosen) / count_pairs(visits),
                     .pairs = windows.size() == 1 ? std::move(all_pairs) : nullptr,
                     .batches = {}};
  if (loaded.pairs == nullptr) {
    loaded.pairs = std::make_shared<PackedPairs>(read_all(source, chosen, seed, epoch));
  }
  loaded.batches = plan_batches(loaded.pairs->lengths(), options, stream_of(seed, epoch, 1 + window));
  return loaded;
}

}  // namespace edgewise
