// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "edgewise/base/config/fields.h"

namespace edgewise {

/// Search methods.
enum class SearchKind {
  kBeam,      // beam search; a beam of 1 is greedy search
  kSampling,  // draws each token at random
  kScoring    // scores a given output, the whole prefix
};

inline constexpr auto enum_names(SearchKind) {
  return std::array{EnumName{SearchKind::kBeam, "beam"}, EnumName{SearchKind::kSampling, "sampling"},
                    EnumName{SearchKind::kScoring, "scoring"}};
}

/// Rules of beam search; search.h describes both.
enum class BeamRules {
  kEdgewise,    // active and finished hypotheses share one beam
  kHuggingFace  // as in generate() of Hugging Face's transformers 5
};

inline constexpr auto enum_names(BeamRules) {
  return std::array{EnumName{BeamRules::kEdgewise, "edgewise"}, EnumName{BeamRules::kHuggingFace, "huggingface"}};
}

/// When BeamRules::kHuggingFace end the search of a sentence that has `beam` finished hypotheses.
enum class StopWhen {
  kFull,    // at once; early_stopping=True of generate()
  kLikely,  // if the best active hypothesis, ended now with probability 1, would not be better; early_stopping=False
  kCertain  // if it would not be better, ended so at the length limit; early_stopping="never"
};

inline constexpr auto enum_names(StopWhen) {
  return std::array{EnumName{StopWhen::kFull, "full"}, EnumName{StopWhen::kLikely, "likely"},
                    EnumName{StopWhen::kCertain, "certain"}};
}

/// Divisors of the log-probability of an output of n tokens, end token included.
enum class LengthNorm {
  kGnmt,     // ((5 + n) / 6) ^ length_penalty (Wu et al. 2016, eq. 14)
  kPower,    // n ^ length_penalty (Marian)
  kAverage,  // n
  kNone      // 1
};

inline constexpr auto enum_names(LengthNorm) {
  return std::array{EnumName{LengthNorm::kGnmt, "gnmt"}, EnumName{LengthNorm::kPower, "power"},
                    EnumName{LengthNorm::kAverage, "average"}, EnumName{LengthNorm::kNone, "none"}};
}

/// How a token is drawn at random (sample_token in hypothesis.h). SearchOptions and GenerateOptions list these fields.
struct SamplingOptions {
  double temperature = 1.0;
  std::int64_t top_k = 0;
  double top_p = 1.0;
  double min_p = 0.0;
};

/// Selects the cross-attention weights that a scorer returns.
struct CrossHeads {
  std::int64_t layer = -1;  // decoder layer from 0; -1: the last
  std::int64_t head = -1;   // head from 0; -1: the mean of all heads
};

/// Options of a search; search.h defines their effects. Lengths are in tokens, without begin and end token; those of
/// BeamRules::kHuggingFace count both.
struct SearchOptions {
  SearchKind kind = SearchKind::kBeam;
  BeamRules rules = BeamRules::kEdgewise;
  std::int64_t beam = 1;
  std::int64_t n_best = 1;

  LengthNorm length_norm = LengthNorm::kGnmt;
  double length_penalty = 0.6;
  double coverage_penalty = 0.0;
  CrossHeads recorded_heads = {};  // attention that coverage and alignments are made from

  double length_factor = 2.0;
  std::int64_t length_offset = 10;
  std::int64_t max_length = 0;
  double min_length_factor = 0.0;  // if the limits conflict, the upper limits win
  std::int64_t min_length = 0;

  std::int64_t no_repeat_ngram = 0;
  double repetition_penalty = 1.0;
  bool stop_loops = true;

  double temperature = 1.0;
  std::int64_t top_k = 0;
  double top_p = 1.0;
  double min_p = 0.0;
  std::uint64_t seed = 1;

  bool early_stop = true;
  bool force_end = true;  // with BeamRules::kHuggingFace, forced_eos_token_id of generate()

  // Options of BeamRules::kHuggingFace.
  StopWhen stop_when = StopWhen::kLikely;
  bool renormalize = false;  // renormalize_logits of generate()

  // Not in a config file: these depend on the vocabulary and the caller.
  std::int64_t begin_token = 2;
  std::int64_t end_token = 3;
  std::vector<std::int64_t> never = {};  // tokens that outputs must not contain, such as padding
  std::vector<std::int64_t> only = {};   // tokens that outputs may contain, beside the end token; empty: all
  std::vector<std::int64_t> once = {};   // tokens that an output may have only if SearchInput::once has them, and once
  bool attention = false;                // whether hypotheses have attention weights

  template <typename Self, typename Field>
  static void list_fields(Self& self, Field&& field) {
    field("kind", self.kind, "search method: beam, sampling, or scoring of given outputs");
    field("rules", self.rules,
          "rules of beam search: edgewise, or huggingface, which gives the outputs of generate() in transformers 5");
    field("beam", self.beam, "beam width: hypotheses kept for each sentence; 1 is greedy search",
          at_least(1).at_most(1000));
    field("n_best", self.n_best, "number of outputs for each input; for beam search at most the beam width",
          at_least(1).at_most(1000));
    field("length_norm", self.length_norm,
          "divisor of log-probabilities in scores: gnmt and power (with length_penalty), average (the length) or none");
    field(
        "length_penalty", self.length_penalty,
        "exponent of the gnmt length norm, or of the length with length_norm=power and with rules=huggingface; larger "
        "values favour longer outputs",
        at_least(0).at_most(10));
    field("coverage_penalty", self.coverage_penalty,
          "weight of the penalty for input tokens with little attention; 0: no penalty", at_least(0).at_most(100));
    field("attention_layer", self.recorded_heads.layer,
          "decoder layer whose cross-attention gives alignments and coverage, from 0; -1: the last layer",
          at_least(-1).at_most(1000));
    field("attention_head", self.recorded_heads.head, "head of attention_layer, from 0; -1: the mean of all heads",
          at_least(-1).at_most(65536));
    field("length_factor", self.length_factor, "longest output: length_factor * input length + length_offset tokens",
          at_least(0).at_most(100));
    field("length_offset", self.length_offset, "constant part of the longest output, in tokens",
          at_least(0).at_most(10'000));
    field("max_length", self.max_length,
          "most tokens of an output, for inputs of any length; 0: no limit; with rules=huggingface, the begin and the "
          "end token count, and a limit is needed",
          at_least(0).at_most(1e6));
    field("min_length_factor", self.min_length_factor,
          "shortest output: min_length_factor * input length + min_length tokens", at_least(0).at_most(100));
    field("min_length", self.min_length,
          "constant part of the shortest output, in tokens; with rules=huggingface, the begin and the end token count",
          at_least(0).at_most(10'000));
    field("no_repeat_ngram", self.no_repeat_ngram,
          "length of token sequences that may not occur twice in an output; 0: no restriction",
          at_least(0).at_most(1000));
    field("repetition_penalty", self.repetition_penalty,
          "factor of the log-probability of tokens that the output already contains; 1: no penalty",
          at_least(1).at_most(100));
    field("stop_loops", self.stop_loops,
          "beam: an output that repeats a token or phrase far more often than its input repeats one is searched again, "
          "without such repetitions");
    field("temperature", self.temperature, "sampling: divisor of log-probabilities; below 1 favours likely tokens",
          at_least(0.001).at_most(1000));
    field("top_k", self.top_k, "sampling: number of most likely tokens to draw from; 0: all tokens",
          at_least(0).at_most(1e7));
    field("top_p", self.top_p,
          "sampling: draw from the most likely tokens that together have this probability; 1: all tokens",
          above(0).at_most(1));
    field("min_p", self.min_p,
          "sampling: draw from the tokens that are at least min_p times as likely as the likeliest; 0: all tokens",
          at_least(0).at_most(1));
    field("seed", self.seed, "sampling: seed of the random numbers");
    field("early_stop", self.early_stop,
          "end the search of a sentence as soon as its result is certain; results do not change");
    field("force_end", self.force_end,
          "outputs at the limit of their length end with the end token; if false, the last token of such an output may "
          "be any token; with rules=huggingface, the probability of this end token does not count");
    field("stop_when", self.stop_when,
          "rules=huggingface: when the search of a sentence ends that has as many outputs as the beam is wide: full "
          "(at once), likely (a better output is unlikely) or certain (there is no better output); these are true, "
          "false and never of early_stopping in generate()");
    field("renormalize", self.renormalize,
          "rules=huggingface: log-probabilities are normalised again after tokens are excluded and penalised");
  }
};

inline SamplingOptions sampling_options(const SearchOptions& options) {
  return {options.temperature, options.top_k, options.top_p, options.min_p};
}

/// Returns whether the rules of a search are those of Hugging Face, which exist for beam search alone.
inline bool follows_hugging_face(const SearchOptions& options) {
  return options.kind == SearchKind::kBeam && options.rules == BeamRules::kHuggingFace;
}

/// Returns whether a search avoids loops (search.h).
inline bool avoids_loops(const SearchOptions& options) {
  return options.stop_loops && options.kind == SearchKind::kBeam && options.rules == BeamRules::kEdgewise;
}

/// Returns the max_length with which the longest output needs `positions` positions of a decoder.
std::int64_t max_length_for(const SearchOptions& options, std::int64_t positions);

/// Throws Error for options that are out of range, contradict each other or do not fit the size of the vocabulary.
void check_options(const SearchOptions& options, std::int64_t vocabulary_size);

/// Throws Error, beginning with `caller`, for an option that has another value than in `before`, but no effect because
/// of another option: "translate: search.temperature is 0.7, needs search.kind=sampling".
void check_effects(const SearchOptions& options, const SearchOptions& before, std::string_view caller);

}  // namespace edgewise
