// SPDX-License-Identifier: Apache-2.0
#include "edgewise/search/edgewise_rules.h"

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

LastToken last_token(const SearchOptions& options) {
  return options.kind == SearchKind::kBeam && !options.force_end ? LastToken::kAny : LastToken::kEnd;
}

}  // namespace

EdgewiseRules::EdgewiseRules(const SearchOptions& options, std::int64_t vocabulary_size)
    : SearchRules(options, {.coverage_penalty = options.coverage_penalty, .last_token = last_token(options)},
                  vocabulary_size) {}

std::int64_t EdgewiseRules::length_limit(std::int64_t input_length) const {
  const std::int64_t longest = linear_length(options().length_factor, options().length_offset, input_length);
  return options().max_length > 0 ? std::min(longest, options().max_length) : longest;
}

/// A last token other than the end token belongs to the output.
std::int64_t EdgewiseRules::longest_output(std::int64_t input_length) const {
  const std::int64_t limit = length_limit(input_length);
  return conventions().last_token == LastToken::kAny ? std::max<std::int64_t>(limit - 1, 0) : limit;
}

std::int64_t EdgewiseRules::shortest_output(std::int64_t input_length) const {
  const std::int64_t shortest = linear_length(options().min_length_factor, options().min_length, input_length);
  return std::min(shortest, longest_output(input_length));
}

std::int64_t EdgewiseRules::num_candidates() const {
  if (options().kind == SearchKind::kScoring) return 0;
  return options().kind == SearchKind::kBeam ? options().beam : std::min(options().top_k, vocabulary_size());
}

bool EdgewiseRules::needs_all_continuations() const {
  return options().kind == SearchKind::kSampling && options().top_k == 0;
}

double EdgewiseRules::score(double log_probability, std::int64_t length) const {
  const auto tokens = static_cast<double>(length);
  switch (options().length_norm) {
    case LengthNorm::kGnmt:
      return log_probability / std::pow((5.0 + tokens) / 6.0, options().length_penalty);
    case LengthNorm::kPower:
      return log_probability / std::pow(tokens, options().length_penalty);
    case LengthNorm::kAverage:
      return log_probability / tokens;
    case LengthNorm::kNone:
      break;
  }
  return log_probability;
}

std::size_t EdgewiseRules::num_ranked(std::size_t num_finished) const {
  return static_cast<std::size_t>(options().beam) - num_finished;
}

KeptExtensions EdgewiseRules::keep(std::vector<Extension> best, bool is_at_limit) const {
  KeptExtensions kept;
  for (const Extension& extension : best) {
    const bool ends = is_at_limit || extension.next.token == options().end_token;
    (ends ? kept.finished : kept.active).push_back(extension);
  }
  return kept;
}

/// The upper bound of an active hypothesis's score: log-probabilities only fall, the divisor is largest for the longest
/// output, and a coverage penalty is at most 0. A hypothesis that can only reach an equal score ranks behind the
/// finished one.
bool EdgewiseRules::is_done(const BeamState& state) const {
  if (options().kind != SearchKind::kBeam || !options().early_stop) return false;
  return state.finished.size() >= state.n_best &&
         state.finished[state.n_best - 1].score >= score(state.best_log_probability, state.longest);
}

}  // namespace edgewise
