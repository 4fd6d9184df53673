// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "edgewise/search/search.h"
#include "tests/search/table_scorer.h"

// Random searches over a table of log-probabilities, and the definition of their results, in plain loops over all
// outputs.
namespace edgewise {

/// Draws a value of every option. The options allow few outputs: at most 40 follow a prefix. Needs a vocabulary of at
/// least 8 tokens. The caller sets the method of the search, and a larger beam if it needs one.
SearchOptions arbitrary_search_options(std::int64_t vocabulary, std::int64_t input_length);

/// A search of one sentence.
struct SearchCase {
  std::int64_t vocabulary = 0;
  SearchOptions options;
  SearchInput input;
  Table table;
  AttentionTable attention;

  std::vector<Hypothesis> search(const SearchOptions& used) const;
};

enum class Equals { kAllowed, kNever };  // whether several tokens may have equal log-probabilities

/// Draws options, input, prefix, and a table with possible and impossible tokens. The prefix may contain any token. The
/// search does not stop loops.
SearchCase arbitrary_search_case(std::int64_t vocabulary, Equals equals = Equals::kAllowed);

// --- definitions

/// Returns the tokens that may follow, ascending, with the log-probabilities that a search adds. At least one.
std::vector<NextToken> tokens_after(const SearchCase& given, const Tokens& produced);

/// Returns the score of a whole output; `log_probability` includes the end token.
double score_of(const SearchCase& given, const Tokens& tokens, double log_probability);

/// Returns the sum of the table's log-probabilities of the prefix; impossible tokens count in scoring only.
double prefix_log_probability(const SearchCase& given);

/// Returns all outputs that the options allow, best first.
std::vector<Hypothesis> all_outputs(const SearchCase& given);

/// Returns each output that sampling can draw, with its probability.
std::map<Tokens, double> sampling_distribution(const SearchCase& given);

}  // namespace edgewise
