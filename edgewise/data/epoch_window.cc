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

/// Several visits at a time, each by a thread.
PackedPairs read_all(const PairSource& source, const std::vector<Visit>& visits, std::uint64_t seed,
                     std::int64_t epoch) {
  constexpr std::size_t kAtOnce = 16;
  constexpr double kWorthAThread = 1000.0;  // pairs
  const double of_a_visit = std::max(count_pairs(visits) / static_cast<double>(visits.size()), 1.0);
  const auto grain = static_cast<std::int64_t>(std::ceil(kWorthAThread / of_a_visit));
  PackedPairs pairs;
  for (std::size_t begin = 0; begin < visits.size(); begin += kAtOnce) {
    std::vector<std::vector<TokenPair>> parts(std::min(kAtOnce, visits.size() - begin));
    parallel_for(std::ssize(parts), grain, [&](std::int64_t first, std::int64_t last) {
      for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i) {
        parts[i] = source.read(visits[begin + i], seed, epoch);
      }
    });
    for (const auto& part : parts) {
      for (const TokenPair& pair : part) pairs.add(pair);
    }
    if (begin == 0) pairs.make_room(count_pairs(visits));
  }
  return pairs;
}

}  // namespace

std::vector<std::vector<Visit>> windows_of_epoch(std::vector<Visit> visits, std::int64_t most_pairs, std::uint64_t seed,
                                                 std::int64_t epoch) {
  stream_of(seed, epoch, 0).shuffle(visits);
  const double all = count_pairs(visits);
  const double count = most_pairs > 0 ? std::max(std::ceil(all / static_cast<double>(most_pairs)), 1.0) : 1.0;
  std::vector<std::vector<Visit>> windows(1);
  double done = 0.0;
  for (const Visit& visit : visits) {
    if (done >= all / count * static_cast<double>(windows.size())) windows.emplace_back();
    windows.back().push_back(visit);
    done += visit.pairs;
  }
  for (auto& window : windows) {
    std::ranges::sort(window, {}, [](const Visit& visit) { return std::tuple(visit.block, visit.copy); });
  }
  return windows;
}

EpochWindow load_window(const PairSource& source, const BatchOptions& options, std::uint64_t seed, std::int64_t epoch,
                        std::int64_t window, std::shared_ptr<const PackedPairs> same_pairs) {
  const std::vector<Visit> visits = source.visits();
  const auto windows = windows_of_epoch(visits, options.window, seed, epoch);
  check(window >= 0 && window < std::ssize(windows), "load_window: window is {}, needs one below {}, those of epoch {}",
        window, windows.size(), epoch);
  const std::vector<Visit>& chosen = windows[static_cast<std::size_t>(window)];
  EpochWindow loaded{.epoch = epoch,
                     .window = window,
                     .num_windows = std::ssize(windows),
                     .share = count_pairs(chosen) / count_pairs(visits),
                     .pairs = windows.size() == 1 ? std::move(same_pairs) : nullptr,
                     .batches = {}};
  if (loaded.pairs == nullptr) {
    loaded.pairs = std::make_shared<PackedPairs>(read_all(source, chosen, seed, epoch));
  }
  loaded.batches = plan_batches(loaded.pairs->sizes(), options, stream_of(seed, epoch, 1 + window));
  return loaded;
}

}  // namespace edgewise
