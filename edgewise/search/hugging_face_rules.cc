// SPDX-License-Identifier: Apache-2.0
#include "edgewise/search/hugging_face_rules.h"

#include <algorithm>
#include <cmath>

namespace edgewise {

HuggingFaceRules::HuggingFaceRules(const SearchOptions& options, std::int64_t vocabulary_size)
    : SearchRules(options,
                  {.counts_prefix = false,
                   .counts_begin = true,
                   .repeats_end = false,
                   .drops_stuck = true,
                   .renormalizes = options.renormalize,
                   .last_token = options.force_end ? LastToken::kForcedEnd : LastToken::kAny},
                  vocabulary_size) {}

std::int64_t HuggingFaceRules::longest_output(std::int64_t /*input_length*/) const { return options().max_length - 2; }

std::int64_t HuggingFaceRules::shortest_output(std::int64_t /*input_length*/) const { return options().min_length - 1; }

std::int64_t HuggingFaceRules::num_candidates() const {
  return std::min(static_cast<std::int64_t>(num_ranked(0)), vocabulary_size());
}

double HuggingFaceRules::score(double log_probability, std::int64_t length) const {
  return log_probability / std::pow(static_cast<double>(length), options().length_penalty);
}

/// Each hypothesis has one extension by the end token, so that `beam` of 2 · beam extensions do not end. In greedy
/// search the likeliest token follows, even if it is the end token.
std::size_t HuggingFaceRules::num_ranked(std::size_t /*num_finished*/) const { return beam() == 1 ? 1 : 2 * beam(); }

KeptExtensions HuggingFaceRules::keep(std::vector<Extension> best, bool is_at_limit) const {
  KeptExtensions kept;
  for (std::size_t rank = 0; rank < best.size(); ++rank) {
    const bool ends = is_at_limit || best[rank].next.token == options().end_token;
    if (ends && rank < beam()) kept.finished.push_back(best[rank]);
    if (!ends && kept.active.size() < beam()) kept.active.push_back(best[rank]);
  }
  return kept;
}

bool HuggingFaceRules::is_done(const BeamState& state) const {
  if (state.finished.size() < beam()) return false;
  if (options().stop_when == StopWhen::kFull) return true;
  const bool is_certain = options().stop_when == StopWhen::kCertain;
  return state.finished.back().score >= score(state.best_log_probability, is_certain ? state.longest : state.length);
}

}  // namespace edgewise
