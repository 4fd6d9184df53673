// SPDX-License-Identifier: Apache-2.0
#include "edgewise/search/hypothesis.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

/// Orders the tokens that may follow one hypothesis: of equals, the lower token is first.
bool precedes(const NextToken& a, const NextToken& b) {
  return a.log_probability != b.log_probability ? a.log_probability > b.log_probability : a.token < b.token;
}

bool is_better(const Extension& a, const Extension& b) {
  if (a.log_probability != b.log_probability) return a.log_probability > b.log_probability;
  return a.parent != b.parent ? a.parent < b.parent : precedes(a.next, b.next);
}

/// Returns probabilities at a temperature, scaled so that the highest is 1 and none overflows.
std::vector<double> scaled_probabilities(std::span<const NextToken> next_tokens, double temperature) {
  double highest = next_tokens.front().log_probability;
  for (const NextToken& next_token : next_tokens) highest = std::max(highest, next_token.log_probability);
  std::vector<double> probabilities;
  for (const NextToken& next_token : next_tokens) {
    // Comparing first makes all tokens equally likely if all log-probabilities are -inf.
    probabilities.push_back(
        next_token.log_probability == highest ? 1.0 : std::exp((next_token.log_probability - highest) / temperature));
  }
  return probabilities;
}

/// Returns how many leading values have at least `share` of the sum of all values.
std::size_t count_with_share(std::span<const double> values, double share) {
  const double needed = share * std::accumulate(values.begin(), values.end(), 0.0);
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    sum += values[i];
    if (sum >= needed) return i + 1;
  }
  return values.size();
}

}  // namespace

std::vector<std::int64_t> alignment(const Hypothesis& hypothesis) {
  const std::size_t rows = hypothesis.tokens.size() + 1;
  check(hypothesis.tokens.empty() || !hypothesis.attention.empty(),
        "alignment: the hypothesis has no attention, needs it; search with options.attention");
  const auto inputs = static_cast<std::ptrdiff_t>(hypothesis.attention.size() / rows);
  std::vector<std::int64_t> aligned;
  for (auto row = hypothesis.attention.begin(); aligned.size() < hypothesis.tokens.size(); row += inputs) {
    aligned.push_back(std::max_element(row, row + inputs) - row);
  }
  return aligned;
}

void BestExtensions::add(const Extension& extension) {
  if (heap_.size() == count_) {
    if (count_ == 0 || !is_better(extension, heap_.front())) return;
    std::pop_heap(heap_.begin(), heap_.end(), is_better);
    heap_.pop_back();
  }
  heap_.push_back(extension);
  std::push_heap(heap_.begin(), heap_.end(), is_better);
}

std::vector<Extension> BestExtensions::take() {
  std::sort_heap(heap_.begin(), heap_.end(), is_better);
  return std::move(heap_);
}

NextToken sample_token(std::vector<NextToken> next_tokens, const SamplingOptions& options, RandomStream& random) {
  if (options.temperature == 0) return *std::ranges::min_element(next_tokens, precedes);
  const bool needs_order = options.top_k > 0 || options.top_p < 1;
  if (needs_order) std::ranges::sort(next_tokens, precedes);
  if (options.top_k > 0) {
    next_tokens.resize(std::min(next_tokens.size(), static_cast<std::size_t>(options.top_k)));
  }
  std::vector<double> probabilities = scaled_probabilities(next_tokens, options.temperature);
  if (options.top_p < 1) probabilities.resize(count_with_share(probabilities, options.top_p));
  for (double& probability : probabilities) {
    if (probability < options.min_p) probability = 0;  // the highest is 1
  }

  const double drawn = random.uniform() * std::accumulate(probabilities.begin(), probabilities.end(), 0.0);
  double sum = 0;
  std::size_t last_possible = 0;  // rounding may leave `drawn` above the sum
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    if (probabilities[i] > 0) last_possible = i;
    sum += probabilities[i];
    if (drawn < sum) return next_tokens[i];
  }
  return next_tokens[last_possible];
}

}  // namespace edgewise
