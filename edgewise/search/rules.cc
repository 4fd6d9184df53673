// SPDX-License-Identifier: Apache-2.0
#include "edgewise/search/rules.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "edgewise/graph/relation_view.h"

namespace edgewise {
namespace {

/// Returns at most the largest NodeIndex, because a hypothesis tree numbers its nodes in NodeIndex.
std::int64_t linear_length(double factor, std::int64_t offset, std::int64_t input_length) {
  constexpr double kLongest = std::numeric_limits<NodeIndex>::max();
  const double length = std::floor(factor * static_cast<double>(input_length)) + static_cast<double>(offset);
  return static_cast<std::int64_t>(std::min(length, kLongest));
}

}  // namespace

SearchRules::SearchRules(const SearchOptions& options, std::int64_t vocabulary_size)
    : options_(options), allowed_(static_cast<std::size_t>(vocabulary_size), options.only.empty() ? 1 : 0) {
  for (const std::int64_t token : options.only) allowed_[token] = 1;
  for (const std::int64_t token : options.never) allowed_[token] = 0;
  allowed_[options.end_token] = 1;
}

std::int64_t SearchRules::longest_output(std::int64_t input_length) const {
  const std::int64_t longest = linear_length(options_.length_factor, options_.length_offset, input_length);
  return options_.max_length > 0 ? std::min(longest, options_.max_length) : longest;
}

std::int64_t SearchRules::shortest_output(std::int64_t input_length) const {
  const std::int64_t shortest = linear_length(options_.min_length_factor, options_.min_length, input_length);
  return std::min(shortest, longest_output(input_length));
}

std::int64_t SearchRules::num_candidates() const {
  if (options_.kind == SearchKind::kScoring) return 0;
  return options_.kind == SearchKind::kBeam ? options_.beam : std::min(options_.top_k, vocabulary_size());
}

bool SearchRules::needs_all_continuations() const {
  return options_.kind == SearchKind::kSampling && options_.top_k == 0;
}

double SearchRules::score(double log_probability, std::int64_t length) const {
  const auto tokens = static_cast<double>(length);
  switch (options_.length_norm) {
    case LengthNorm::kGnmt:
      return log_probability / std::pow((5.0 + tokens) / 6.0, options_.length_penalty);
    case LengthNorm::kAverage:
      return log_probability / tokens;
    case LengthNorm::kNone:
      break;
  }
  return log_probability;
}

double SearchRules::coverage_penalty(std::span<const double> weights) const {
  if (options_.coverage_penalty == 0) return 0;
  double sum = 0;
  for (const double weight : weights) sum += std::log(std::min(weight, 1.0));
  return options_.coverage_penalty * sum;
}

}  // namespace edgewise
