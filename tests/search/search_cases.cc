// SPDX-License-Identifier: Apache-2.0
#include "tests/search/search_cases.h"

#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace edgewise {
namespace {

// By the number of tokens that may follow: so many tokens give at most 40 outputs, which fit into a beam of 40.
constexpr std::array<std::int64_t, 4> kLongest = {1, 8, 4, 3};

bool contains(const Tokens& tokens, std::int64_t token) { return std::ranges::find(tokens, token) != tokens.end(); }

/// Draws up to three tokens, and options that allow these tokens and the end token only. Returns the tokens.
Tokens draw_words(std::int64_t vocabulary, SearchOptions& options) {
  const auto token = rc::gen::inRange<std::int64_t>(0, vocabulary);
  options.begin_token = *token;
  options.end_token = *token;
  Tokens words = *rc::gen::unique<Tokens>(*rc::gen::inRange<std::size_t>(1, 4), token);
  std::erase(words, options.end_token);
  Tokens others;
  for (std::int64_t other = 0; other < vocabulary; ++other) {
    if (!contains(words, other) && other != options.end_token) others.push_back(other);
  }
  switch (*rc::gen::inRange(0, 3)) {
    case 0:
      options.never = others;
      break;
    case 1:
      options.only = words;
      if (words.empty() || *rc::gen::arbitrary<bool>()) options.only.push_back(options.end_token);
      break;
    default:
      options.only = words;
      options.only.insert(options.only.end(), others.begin(), others.begin() + 3);
      options.never.assign(others.begin(), others.begin() + 4);
  }
  if (*rc::gen::arbitrary<bool>()) {
    options.once = *rc::gen::container<Tokens>(2, token);
    std::erase(options.once, options.end_token);
  }
  return words;
}

void draw_lengths(std::int64_t longest, std::int64_t input_length, SearchOptions& options) {
  options.length_factor = *rc::gen::element(0.0, 0.5, 1.0, 2.0);
  options.length_offset = *rc::gen::inRange<std::int64_t>(0, 6);
  options.max_length = *rc::gen::inRange<std::int64_t>(0, 9);
  const std::int64_t by_input =
      static_cast<std::int64_t>(options.length_factor * static_cast<double>(input_length)) + options.length_offset;
  if (by_input > longest && (options.max_length == 0 || options.max_length > longest)) options.max_length = longest;
  options.min_length_factor = *rc::gen::element(0.0, 0.0, 0.5, 1.5);
  options.min_length = *rc::gen::inRange<std::int64_t>(0, 6);
}

SearchOptions draw_options(std::int64_t vocabulary, std::int64_t input_length, Tokens& words) {
  SearchOptions options;
  options.kind = *rc::gen::element(SearchKind::kBeam, SearchKind::kSampling, SearchKind::kScoring);
  options.beam = *rc::gen::inRange<std::int64_t>(1, 9);
  options.n_best = *rc::gen::inRange<std::int64_t>(1, options.beam + 1);
  options.length_norm =
      *rc::gen::element(LengthNorm::kGnmt, LengthNorm::kPower, LengthNorm::kAverage, LengthNorm::kNone);
  options.length_penalty = *rc::gen::element(0.0, 0.6, 2.0, 10.0);
  options.coverage_penalty = *rc::gen::element(0.0, 0.0, 0.2, 3.0);
  options.no_repeat_ngram = *rc::gen::inRange<std::int64_t>(0, 5);
  options.repetition_penalty = *rc::gen::element(1.0, 1.0, 1.7, 100.0);
  options.temperature = *rc::gen::element(1.0, 0.3, 2.0, 1000.0);
  options.top_k = *rc::gen::inRange<std::int64_t>(0, 5);
  options.top_p = *rc::gen::element(1.0, 0.05, 0.6, 0.95);
  options.min_p = *rc::gen::element(0.0, 0.0, 0.3, 1.0);
  options.seed = *rc::gen::arbitrary<std::uint64_t>();
  options.early_stop = *rc::gen::arbitrary<bool>();
  options.stop_loops = *rc::gen::arbitrary<bool>();
  options.attention = *rc::gen::arbitrary<bool>();
  words = draw_words(vocabulary, options);
  draw_lengths(kLongest[words.size()], input_length, options);
  return options;
}

Tokens draw_prefix(std::int64_t vocabulary, const Tokens& words) {
  const auto any = rc::gen::inRange<std::int64_t>(0, vocabulary);
  const auto token = words.empty() ? any : rc::gen::oneOf(rc::gen::elementOf(words), any);
  return *rc::gen::container<Tokens>(*rc::gen::inRange<std::size_t>(0, 5), token);
}

/// Returns whether the last `size` tokens also occur before.
bool repeats_an_ngram(const Tokens& tokens, std::int64_t size) {
  if (size == 0 || std::ssize(tokens) < size) return false;
  const auto last = tokens.end() - size;
  for (auto begin = tokens.begin(); begin != last; ++begin) {
    if (std::equal(last, tokens.end(), begin)) return true;
  }
  return false;
}

std::int64_t length_of(double factor, std::int64_t constant, const SearchCase& given) {
  return static_cast<std::int64_t>(factor * static_cast<double>(given.input.tokens.size())) + constant;
}

/// Returns whether any token may be the last one of an output at the limit.
bool may_lack_end(const SearchOptions& options) { return options.kind == SearchKind::kBeam && !options.force_end; }

/// Returns the length of the longest hypothesis that another token follows.
std::int64_t longest_output(const SearchCase& given) {
  const SearchOptions& options = given.options;
  std::int64_t longest = length_of(options.length_factor, options.length_offset, given);
  if (options.max_length > 0) longest = std::min(longest, options.max_length);
  if (may_lack_end(options)) --longest;
  return std::max({longest, std::ssize(given.input.prefix), std::int64_t{0}});
}

Tokens append(Tokens tokens, std::int64_t token) {
  tokens.push_back(token);
  return tokens;
}

bool may_follow(const SearchCase& given, const Tokens& produced, std::int64_t token) {
  const SearchOptions& options = given.options;
  if (!options.only.empty() && !contains(options.only, token)) return false;
  if (contains(options.once, token) && (!contains(given.input.once, token) || contains(produced, token))) return false;
  return !contains(options.never, token) && !repeats_an_ngram(append(produced, token), options.no_repeat_ngram);
}

/// Keeps the tokens that sampling may draw, and returns their probabilities.
std::vector<double> sampling_shares(std::vector<NextToken>& next, const SearchOptions& options) {
  std::ranges::stable_sort(next, std::ranges::greater(), &NextToken::log_probability);
  if (options.top_k > 0 && std::ssize(next) > options.top_k) next.resize(static_cast<std::size_t>(options.top_k));
  const double highest = next.front().log_probability;
  std::vector<double> shares;
  double sum = 0;
  for (const NextToken& token : next) {
    const double distance = std::isinf(highest) ? 0 : token.log_probability - highest;
    sum += shares.emplace_back(std::exp(distance / options.temperature));
  }
  double kept = 0;
  std::size_t count = 0;
  while (count < shares.size() && (count == 0 || kept < options.top_p * sum)) kept += shares[count++];
  for (; shares[count - 1] < options.min_p; --count) kept -= shares[count - 1];
  next.resize(count);
  shares.resize(count);
  for (double& share : shares) share /= kept;
  return shares;
}

}  // namespace

SearchOptions arbitrary_search_options(std::int64_t vocabulary, std::int64_t input_length) {
  Tokens words;
  return draw_options(vocabulary, input_length, words);
}

SearchCase arbitrary_search_case(std::int64_t vocabulary, Equals equals) {
  SearchCase given{.vocabulary = vocabulary, .options = {}, .input = {}, .table = {}, .attention = {}};
  given.input.tokens =
      *rc::gen::container<Tokens>(*rc::gen::inRange<std::size_t>(1, 5), rc::gen::inRange<std::int64_t>(0, vocabulary));
  Tokens words;
  given.options = draw_options(vocabulary, std::ssize(given.input.tokens), words);
  given.options.stop_loops = false;  // which the definitions of this file do not know
  given.input.prefix = draw_prefix(vocabulary, words);
  given.input.once = *rc::gen::container<Tokens>(2, rc::gen::inRange<std::int64_t>(0, vocabulary));
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  constexpr std::array kTables = {random_table, table_with_impossible, table_with_equals};
  const auto num_tables = kTables.size() - (equals == Equals::kNever ? 1 : 0);
  given.table = kTables[*rc::gen::inRange<std::size_t>(0, num_tables)](vocabulary, seed);
  given.attention = random_attention(seed);
  return given;
}

std::vector<Hypothesis> SearchCase::search(const SearchOptions& used) const {
  TableScorer scorer(vocabulary, table, attention);
  return edgewise::search(scorer, std::vector<SearchInput>{input}, used).at(0);
}

std::vector<NextToken> tokens_after(const SearchCase& given, const Tokens& produced) {
  const SearchOptions& options = given.options;
  const std::vector<float> row = given.table(given.input.tokens, produced);
  const NextToken end{options.end_token, row[static_cast<std::size_t>(options.end_token)]};
  const std::int64_t longest = longest_output(given);
  const std::int64_t shortest = std::min(length_of(options.min_length_factor, options.min_length, given), longest);
  if (std::ssize(produced) >= longest && !may_lack_end(options)) return {end};
  std::vector<NextToken> next;
  for (std::int64_t token = 0; token < given.vocabulary; ++token) {
    if (token == options.end_token) {
      if (std::ssize(produced) >= shortest) next.push_back(end);
    } else if (may_follow(given, produced, token)) {
      const double factor = contains(produced, token) ? options.repetition_penalty : 1.0;
      next.push_back({token, row[static_cast<std::size_t>(token)] * factor});
    }
  }
  if (next.empty()) next.push_back(end);
  return next;
}

double score_of(const SearchCase& given, const Tokens& tokens, double log_probability) {
  const SearchOptions& options = given.options;
  const Tokens& input = given.input.tokens;
  const bool lacks_end = may_lack_end(options) && std::ssize(tokens) > longest_output(given);
  const std::size_t num_predicted = tokens.size() + (lacks_end ? 0 : 1);
  const auto length = static_cast<double>(num_predicted);
  double divisor = 1;
  if (options.length_norm == LengthNorm::kGnmt) divisor = std::pow((5.0 + length) / 6.0, options.length_penalty);
  if (options.length_norm == LengthNorm::kPower) divisor = std::pow(length, options.length_penalty);
  if (options.length_norm == LengthNorm::kAverage) divisor = length;
  double score = log_probability / divisor;
  for (std::size_t i = 0; i < input.size() && options.coverage_penalty > 0; ++i) {
    double coverage = 0;
    for (std::size_t size = 0; size < num_predicted; ++size) {
      coverage += given.attention(input, Tokens(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(size)))[i];
    }
    constexpr double kSmallest = std::numeric_limits<float>::min();
    score += options.coverage_penalty * std::log(std::clamp(coverage, kSmallest, 1.0));
  }
  return score;
}

double prefix_log_probability(const SearchCase& given) {
  double sum = 0;
  Tokens produced;
  for (const std::int64_t token : given.input.prefix) {
    const double of_token = given.table(given.input.tokens, produced)[static_cast<std::size_t>(token)];
    if (!std::isinf(of_token) || given.options.kind == SearchKind::kScoring) sum += of_token;
    produced.push_back(token);
  }
  return sum;
}

std::vector<Hypothesis> all_outputs(const SearchCase& given) {
  std::vector<Hypothesis> outputs;
  const auto visit = [&](const auto& self, const Tokens& produced, double log_probability) -> void {
    for (const NextToken& next : tokens_after(given, produced)) {
      const double sum = log_probability + next.log_probability;
      const bool is_end = next.token == given.options.end_token;
      const Tokens tokens = is_end ? produced : append(produced, next.token);
      if (!is_end && std::ssize(produced) < longest_output(given)) {
        self(self, tokens, sum);
        continue;
      }
      outputs.emplace_back();
      outputs.back().tokens = tokens;
      outputs.back().log_probability = sum;
      outputs.back().score = score_of(given, tokens, sum);
    }
  };
  visit(visit, given.input.prefix, prefix_log_probability(given));
  std::ranges::stable_sort(outputs, std::ranges::greater(), &Hypothesis::score);
  return outputs;
}

std::map<Tokens, double> sampling_distribution(const SearchCase& given) {
  std::map<Tokens, double> distribution;
  const auto visit = [&](const auto& self, const Tokens& produced, double probability) -> void {
    std::vector<NextToken> next = tokens_after(given, produced);
    const std::vector<double> shares = sampling_shares(next, given.options);
    for (std::size_t i = 0; i < next.size(); ++i) {
      if (shares[i] == 0) continue;
      if (next[i].token == given.options.end_token) {
        distribution[produced] += shares[i] * probability;
      } else {
        self(self, append(produced, next[i].token), shares[i] * probability);
      }
    }
  };
  visit(visit, given.input.prefix, 1.0);
  return distribution;
}

}  // namespace edgewise
