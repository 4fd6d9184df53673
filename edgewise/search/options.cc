// SPDX-License-Identifier: Apache-2.0
#include "edgewise/search/options.h"

#include <algorithm>
#include <array>

#include "edgewise/base/error.h"
#include "edgewise/base/option_rules.h"

namespace edgewise {
namespace {

void check_token(std::string_view name, std::int64_t token, std::int64_t vocabulary_size) {
  check(token >= 0 && token < vocabulary_size, "search: {} is {}, but the vocabulary has {} tokens, counted from 0",
        name, token, vocabulary_size);
}

bool is_beam(const SearchOptions& options) { return options.kind == SearchKind::kBeam; }
bool is_sampling(const SearchOptions& options) { return options.kind == SearchKind::kSampling; }

constexpr auto kRules = std::to_array<OptionRule<SearchOptions>>({
    {"beam", is_beam, "search.kind=beam"},
    {"early_stop", is_beam, "search.kind=beam"},
    {"temperature", is_sampling, "search.kind=sampling"},
    {"top_k", is_sampling, "search.kind=sampling"},
    {"top_p", is_sampling, "search.kind=sampling"},
    {"seed", is_sampling, "search.kind=sampling"},
    {"length_penalty", [](const SearchOptions& options) { return options.length_norm == LengthNorm::kGnmt; },
     "search.length_norm=gnmt"},
});

}  // namespace

void check_effects(const SearchOptions& options, const SearchOptions& before, std::string_view caller) {
  check_effects<SearchOptions>(options, before, kRules, caller, "search.");
}

void check_options(const SearchOptions& options, std::int64_t vocabulary_size) {
  check_ranges(options, "search");
  check(options.beam <= vocabulary_size,
        "search: beam is {}, but the vocabulary has {} tokens; at most so many are needed", options.beam,
        vocabulary_size);
  check(options.kind != SearchKind::kBeam || options.n_best <= options.beam,
        "search: n_best is {}, but the beam is {}; a beam at least as wide is needed", options.n_best, options.beam);

  check_token("begin_token", options.begin_token, vocabulary_size);
  check_token("end_token", options.end_token, vocabulary_size);
  for (const std::int64_t token : options.never) check_token("never", token, vocabulary_size);
  for (const std::int64_t token : options.only) check_token("only", token, vocabulary_size);
  check(std::find(options.never.begin(), options.never.end(), options.end_token) == options.never.end(),
        "search: never holds the end token {}, without which no output ends; take it out", options.end_token);
}

}  // namespace edgewise
