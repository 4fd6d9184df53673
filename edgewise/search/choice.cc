// SPDX-License-Identifier: Apache-2.0
#include "edgewise/search/choice.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace edgewise {

namespace {

bool is_better(const Choice& a, const Choice& b) {
  if (a.log_probability != b.log_probability) return a.log_probability > b.log_probability;
  return std::pair(a.parent, a.token) < std::pair(b.parent, b.token);
}

/// Relative to the most likely one, so that none overflows and one is 1.
std::vector<double> shaped_probabilities(std::span<const Follower> followers, double temperature) {
  double most = followers.front().log_probability;
  for (const Follower& follower : followers) most = std::max(most, follower.log_probability);
  std::vector<double> probabilities;
  for (const Follower& follower : followers) {
    // Where all are impossible, all are as likely.
    probabilities.push_back(
        follower.log_probability == most ? 1.0 : std::exp((follower.log_probability - most) / temperature));
  }
  return probabilities;
}

double sum_of(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

/// How many of the first have `share` of the sum.
std::size_t count_with_share(std::span<const double> values, double share) {
  const double enough = share * sum_of(values);
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    sum += values[i];
    if (sum >= enough) return i + 1;
  }
  return values.size();
}

}  // namespace

void BestChoices::offer(const Choice& choice) {
  if (heap_.size() == count_) {
    if (count_ == 0 || !is_better(choice, heap_.front())) return;
    std::pop_heap(heap_.begin(), heap_.end(), is_better);
    heap_.pop_back();
  }
  heap_.push_back(choice);
  std::push_heap(heap_.begin(), heap_.end(), is_better);
}

std::vector<Choice> BestChoices::take() {
  std::sort_heap(heap_.begin(), heap_.end(), is_better);
  return std::move(heap_);
}

Follower draw(std::vector<Follower> followers, const SearchOptions& options, RandomStream& random) {
  const bool needs_order = options.top_k > 0 || options.top_p < 1;
  if (needs_order) {
    std::ranges::stable_sort(followers, std::ranges::greater(), &Follower::log_probability);
  }
  if (options.top_k > 0) {
    followers.resize(std::min(followers.size(), static_cast<std::size_t>(options.top_k)));
  }
  std::vector<double> probabilities = shaped_probabilities(followers, options.temperature);
  if (options.top_p < 1) probabilities.resize(count_with_share(probabilities, options.top_p));

  const double drawn = random.uniform() * sum_of(probabilities);
  double sum = 0;
  std::size_t last_possible = 0;  // rounding may leave the number drawn above the sum of all
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    if (probabilities[i] > 0) last_possible = i;
    sum += probabilities[i];
    if (drawn < sum) return followers[i];
  }
  return followers[last_possible];
}

}  // namespace edgewise
