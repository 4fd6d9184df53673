// SPDX-License-Identifier: Apache-2.0
#include "edgewise/search/options.h"

#include <algorithm>

#include "edgewise/base/config/option_rules.h"
#include "edgewise/base/error.h"

namespace edgewise {
namespace {

void check_token(std::string_view name, std::int64_t token, std::int64_t vocabulary_size) {
  check(token >= 0 && token < vocabulary_size, "search: {} is {}, but the vocabulary has {} tokens, counted from 0",
        name, token, vocabulary_size);
}

bool is_beam(const SearchOptions& options) { return options.kind == SearchKind::kBeam; }
bool is_sampling(const SearchOptions& options) { return options.kind == SearchKind::kSampling; }
bool follows_own_rules(const SearchOptions& options) { return !follows_hugging_face(options); }

bool has_length_exponent(const SearchOptions& options) {
  return options.length_norm == LengthNorm::kGnmt || options.length_norm == LengthNorm::kPower ||
         follows_hugging_face(options);
}

/// The limit counts the begin token and the end token.
bool has_needed_limit(const SearchOptions& options) { return follows_own_rules(options) || options.max_length >= 2; }

/// Greedy search of generate() multiplies logits by the repetition penalty; a scorer gives log-probabilities.
bool can_penalize(const SearchOptions& options) { return follows_own_rules(options) || options.beam > 1; }

constexpr auto kRules = std::to_array<OptionRule<SearchOptions>>({
    {"rules", is_beam, "search.kind=beam"},
    {"rules", has_needed_limit, "search.max_length of at least 2"},
    {"beam", is_beam, "search.kind=beam"},
    {"early_stop", is_beam, "search.kind=beam"},
    {"stop_loops", is_beam, "search.kind=beam"},
    {"force_end", is_beam, "search.kind=beam"},
    {"early_stop", follows_own_rules, "search.rules=edgewise"},
    {"stop_loops", follows_own_rules, "search.rules=edgewise"},
    {"length_norm", follows_own_rules, "search.rules=edgewise"},
    {"coverage_penalty", follows_own_rules, "search.rules=edgewise"},
    {"length_factor", follows_own_rules, "search.rules=edgewise"},
    {"length_offset", follows_own_rules, "search.rules=edgewise"},
    {"min_length_factor", follows_own_rules, "search.rules=edgewise"},
    {"stop_when", follows_hugging_face, "search.rules=huggingface"},
    {"renormalize", follows_hugging_face, "search.rules=huggingface"},
    {"repetition_penalty", can_penalize, "search.beam of at least 2 with search.rules=huggingface"},
    {"temperature", is_sampling, "search.kind=sampling"},
    {"top_k", is_sampling, "search.kind=sampling"},
    {"top_p", is_sampling, "search.kind=sampling"},
    {"min_p", is_sampling, "search.kind=sampling"},
    {"seed", is_sampling, "search.kind=sampling"},
    {"length_penalty", has_length_exponent, "search.length_norm=gnmt or power"},
});

}  // namespace

std::int64_t max_length_for(const SearchOptions& options, std::int64_t positions) {
  // The decoder has a position for the begin token, but none for the last token of an output.
  return follows_hugging_face(options) ? positions + 1 : positions - 1;
}

void check_effects(const SearchOptions& options, const SearchOptions& before, std::string_view caller) {
  check_effects<SearchOptions>(options, before, kRules, caller, "search.");
}

void check_options(const SearchOptions& options, std::int64_t vocabulary_size) {
  check_ranges(options, "search");
  check(options.beam <= vocabulary_size, "search: beam is {}, needs at most the {} tokens of the vocabulary",
        options.beam, vocabulary_size);
  check(options.kind != SearchKind::kBeam || options.n_best <= options.beam,
        "search: n_best is {}, needs at most the beam, which is {}", options.n_best, options.beam);
  check(has_needed_limit(options), "search: max_length is {}, needs at least 2 with rules=huggingface",
        options.max_length);
  check(options.repetition_penalty == 1 || can_penalize(options),
        "search: repetition_penalty is {}, needs a beam of at least 2 with rules=huggingface",
        options.repetition_penalty);

  check_token("begin_token", options.begin_token, vocabulary_size);
  check_token("end_token", options.end_token, vocabulary_size);
  for (const std::int64_t token : options.never) check_token("never", token, vocabulary_size);
  for (const std::int64_t token : options.only) check_token("only", token, vocabulary_size);
  for (const std::int64_t token : options.once) check_token("once", token, vocabulary_size);
  check(std::find(options.never.begin(), options.never.end(), options.end_token) == options.never.end(),
        "search: never holds the end token {}, without which no output ends; take it out", options.end_token);
  check(std::ranges::count(options.once, options.end_token) == 0,
        "search: once holds the end token {}, which each output may have; take it out", options.end_token);
}

}  // namespace edgewise
