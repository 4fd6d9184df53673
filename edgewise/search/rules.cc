// SPDX-License-Identifier: Apache-2.0
#include "edgewise/search/rules.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

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

/// The rules of sampling, of scoring, and of beam search with BeamRules::kEdgewise.
class EdgewiseRules final : public SearchRules {
 public:
  EdgewiseRules(const SearchOptions& options, std::int64_t vocabulary_size)
      : SearchRules(options, {.coverage_penalty = options.coverage_penalty, .last_token = last_token(options)},
                    vocabulary_size) {}

  /// A last token other than the end token belongs to the output.
  std::int64_t longest_output(std::int64_t input_length) const override {
    const std::int64_t limit = length_limit(input_length);
    return conventions().last_token == LastToken::kAny ? std::max<std::int64_t>(limit - 1, 0) : limit;
  }

  std::int64_t shortest_output(std::int64_t input_length) const override {
    const std::int64_t shortest = linear_length(options().min_length_factor, options().min_length, input_length);
    return std::min(shortest, longest_output(input_length));
  }

  std::int64_t num_candidates() const override {
    if (options().kind == SearchKind::kScoring) return 0;
    return options().kind == SearchKind::kBeam ? options().beam : std::min(options().top_k, vocabulary_size());
  }

  bool needs_all_continuations() const override {
    return options().kind == SearchKind::kSampling && options().top_k == 0;
  }

  double score(double log_probability, std::int64_t length) const override {
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

  std::size_t num_ranked(std::size_t num_finished) const override {
    return static_cast<std::size_t>(options().beam) - num_finished;
  }

  KeptExtensions keep(std::vector<Extension> best, bool is_at_limit) const override {
    KeptExtensions kept;
    for (const Extension& extension : best) {
      const bool ends = is_at_limit || extension.next.token == options().end_token;
      (ends ? kept.finished : kept.active).push_back(extension);
    }
    return kept;
  }

  /// The upper bound of an active hypothesis's score: log-probabilities only fall, the divisor is largest for the
  /// longest output, and a coverage penalty is at most 0. A hypothesis that can only reach an equal score ranks after
  /// the finished one.
  bool is_done(const BeamState& state) const override {
    if (options().kind != SearchKind::kBeam || !options().early_stop) return false;
    return state.finished.size() >= state.n_best &&
           state.finished[state.n_best - 1].score >= score(state.best_log_probability, state.longest);
  }

 private:
  /// Returns the most tokens of an output, without its end token.
  std::int64_t length_limit(std::int64_t input_length) const {
    const std::int64_t longest = linear_length(options().length_factor, options().length_offset, input_length);
    return options().max_length > 0 ? std::min(longest, options().max_length) : longest;
  }
};

/// The rules of beam search with BeamRules::kHuggingFace.
class HuggingFaceRules final : public SearchRules {
 public:
  HuggingFaceRules(const SearchOptions& options, std::int64_t vocabulary_size)
      : SearchRules(options,
                    {.counts_prefix = false,
                     .counts_begin = true,
                     .repeats_end = false,
                     .drops_stuck = true,
                     .renormalizes = options.renormalize,
                     .last_token = options.force_end ? LastToken::kForcedEnd : LastToken::kAny},
                    vocabulary_size) {}

  std::int64_t longest_output(std::int64_t /*input_length*/) const override { return options().max_length - 2; }
  std::int64_t shortest_output(std::int64_t /*input_length*/) const override { return options().min_length - 1; }

  std::int64_t num_candidates() const override {
    return std::min(static_cast<std::int64_t>(num_ranked(0)), vocabulary_size());
  }

  double score(double log_probability, std::int64_t length) const override {
    return log_probability / std::pow(static_cast<double>(length), options().length_penalty);
  }

  /// Each hypothesis has one extension by the end token, so that `beam` of 2 · beam extensions do not end. In greedy
  /// search the likeliest token follows, even if it is the end token.
  std::size_t num_ranked(std::size_t /*num_finished*/) const override { return beam() == 1 ? 1 : 2 * beam(); }

  KeptExtensions keep(std::vector<Extension> best, bool is_at_limit) const override {
    KeptExtensions kept;
    for (std::size_t rank = 0; rank < best.size(); ++rank) {
      const bool ends = is_at_limit || best[rank].next.token == options().end_token;
      if (ends && rank < beam()) kept.finished.push_back(best[rank]);
      if (!ends && kept.active.size() < beam()) kept.active.push_back(best[rank]);
    }
    return kept;
  }

  bool is_done(const BeamState& state) const override {
    if (state.finished.size() < beam()) return false;
    if (options().stop_when == StopWhen::kFull) return true;
    const bool is_certain = options().stop_when == StopWhen::kCertain;
    return state.finished.back().score >= score(state.best_log_probability, is_certain ? state.longest : state.length);
  }

 private:
  std::size_t beam() const { return static_cast<std::size_t>(options().beam); }
};

}  // namespace

SearchRules::SearchRules(const SearchOptions& options, const SearchConventions& conventions,
                         std::int64_t vocabulary_size)
    : options_(options),
      conventions_(conventions),
      allowed_(static_cast<std::size_t>(vocabulary_size), options.only.empty() ? 1 : 0) {
  for (const std::int64_t token : options.only) allowed_[token] = 1;
  for (const std::int64_t token : options.never) allowed_[token] = 0;
  for (const std::int64_t token : options.once) {
    if (std::exchange(allowed_[token], 0) != 0) once_.push_back(token);
  }
  allowed_[options.end_token] = 1;
  for (std::int64_t token = 0; token < vocabulary_size; ++token) {
    if (allowed_[token] == 0) forbidden_.push_back(token);
  }
}

double SearchRules::coverage_penalty(std::span<const double> weights) const {
  if (conventions_.coverage_penalty == 0) return 0;
  // A sum of attention weights in fp32 may underflow to 0, whose logarithm would make all hypotheses equal.
  constexpr double kSmallest = std::numeric_limits<float>::min();
  double sum = 0;
  for (const double weight : weights) sum += std::log(std::clamp(weight, kSmallest, 1.0));
  return conventions_.coverage_penalty * sum;
}

std::unique_ptr<const SearchRules> make_search_rules(const SearchOptions& options, std::int64_t vocabulary_size) {
  if (follows_hugging_face(options)) return std::make_unique<HuggingFaceRules>(options, vocabulary_size);
  return std::make_unique<EdgewiseRules>(options, vocabulary_size);
}

}  // namespace edgewise
