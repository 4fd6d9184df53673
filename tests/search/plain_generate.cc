// SPDX-License-Identifier: Apache-2.0
#include "tests/search/plain_generate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace edgewise {
namespace {

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

/// A sequence of tokens, begin token included.
struct Sequence {
  Tokens tokens;
  double log_probability = 0;
};

class PlainGenerate {
 public:
  PlainGenerate(const Table& table, const SearchInput& input, const SearchOptions& options)
      : table_(table), input_(input), options_(options) {
    prompt_ = {options.begin_token};
    if (input.prefix.empty()) return;
    prompt_.insert(prompt_.end(), input.forced.begin(), input.forced.end());
    prompt_.insert(prompt_.end(), input.prefix.begin(), input.prefix.end());
  }

  PlainOutputs run() {
    options_.beam == 1 ? run_greedy() : run_beam();
    if (std::ssize(finished_) > options_.n_best) finished_.resize(static_cast<std::size_t>(options_.n_best));
    return {finished_, smallest_gap_};
  }

 private:
  double score(double log_probability, std::size_t length) const {
    return log_probability / std::pow(static_cast<double>(length - prompt_.size()), options_.length_penalty);
  }

  std::vector<double> next_log_probabilities(const Tokens& tokens) const {
    const std::vector<float> row = table_(input_.tokens, {tokens.begin() + 1, tokens.end()});
    std::vector<double> next(row.begin(), row.end());
    for (const std::int64_t token : std::set(tokens.begin(), tokens.end())) next[token] *= options_.repetition_penalty;
    forbid_repetitions(tokens, next);
    for (const std::int64_t token : options_.never) next[token] = kImpossible;
    if (std::ssize(tokens) < options_.min_length) next[options_.end_token] = kImpossible;
    const std::size_t number = tokens.size() - 1;
    if (input_.prefix.empty() && number < input_.forced.size()) force(input_.forced[number], next);
    if (options_.force_end && std::ssize(tokens) >= options_.max_length - 1) force(options_.end_token, next);
    if (options_.renormalize) normalize(next);
    return next;
  }

  void forbid_repetitions(const Tokens& tokens, std::vector<double>& next) const {
    const auto size = static_cast<std::ptrdiff_t>(options_.no_repeat_ngram);
    if (size == 0) return;
    std::set<Tokens> ngrams;
    for (auto begin = tokens.begin(); tokens.end() - begin >= size; ++begin) ngrams.insert({begin, begin + size});
    for (std::size_t token = 0; token < next.size() && std::ssize(tokens) >= size - 1; ++token) {
      Tokens last(tokens.end() - (size - 1), tokens.end());
      last.push_back(static_cast<std::int64_t>(token));
      if (ngrams.contains(last)) next[token] = kImpossible;
    }
  }

  static void force(std::int64_t token, std::vector<double>& next) {
    std::fill(next.begin(), next.end(), kImpossible);
    next[token] = 0;
  }

  static void normalize(std::vector<double>& next) {
    double sum = 0;
    for (const double log_probability : next) sum += std::exp(log_probability);
    for (double& log_probability : next) log_probability -= sum > 0 ? std::log(sum) : 0;
  }

  bool ends(const Sequence& sequence) const {
    return sequence.tokens.back() == options_.end_token || std::ssize(sequence.tokens) >= options_.max_length;
  }

  void finish(const Sequence& sequence) {
    Hypothesis hypothesis;
    hypothesis.tokens = {sequence.tokens.begin() + 1, sequence.tokens.end()};
    if (hypothesis.tokens.back() == options_.end_token) hypothesis.tokens.pop_back();
    hypothesis.log_probability = sequence.log_probability;
    hypothesis.score = score(sequence.log_probability, sequence.tokens.size());
    finished_.push_back(hypothesis);
  }

  void run_greedy() {
    Sequence sequence = {prompt_};
    do {
      const std::vector<double> next = next_log_probabilities(sequence.tokens);
      const auto best = std::ranges::max_element(next);
      note_gaps({next.begin(), next.end()}, 1);
      const bool is_stuck = *best == kImpossible;
      sequence.tokens.push_back(is_stuck ? options_.end_token : best - next.begin());
      sequence.log_probability += is_stuck ? 0 : *best;
    } while (!ends(sequence));
    finish(sequence);
  }

  void run_beam() {
    std::vector<Sequence> running = {{prompt_}};
    while (true) {
      std::vector<Sequence> extended = extend_all(running);
      if (extended.empty() && finished_.empty()) {
        for (Sequence sequence : running) {
          sequence.tokens.push_back(options_.end_token);
          finish(sequence);
        }
      }
      running.clear();
      for (std::size_t rank = 0; rank < extended.size(); ++rank) {
        if (!ends(extended[rank])) {
          running.push_back(extended[rank]);
        } else if (static_cast<std::int64_t>(rank) < options_.beam) {
          finish(extended[rank]);
        }
      }
      keep_best(running, &Sequence::log_probability);
      keep_best(finished_, &Hypothesis::score);
      if (running.empty() || is_done(running.front())) return;
    }
  }

  /// Returns the best 2 · beam extensions that are possible.
  std::vector<Sequence> extend_all(const std::vector<Sequence>& running) {
    std::vector<Sequence> extended;
    std::vector<double> values;
    for (const Sequence& sequence : running) {
      const std::vector<double> next = next_log_probabilities(sequence.tokens);
      for (std::size_t token = 0; token < next.size(); ++token) {
        if (next[token] == kImpossible) continue;
        extended.push_back({sequence.tokens, sequence.log_probability + next[token]});
        extended.back().tokens.push_back(static_cast<std::int64_t>(token));
        values.push_back(extended.back().log_probability);
      }
    }
    const auto most = static_cast<std::size_t>(2 * options_.beam);
    note_gaps(values, most);
    std::ranges::stable_sort(extended, std::ranges::greater(), &Sequence::log_probability);
    if (extended.size() > most) extended.resize(most);
    return extended;
  }

  template <class Element>
  void keep_best(std::vector<Element>& elements, double Element::*value) {
    std::vector<double> values;
    for (const Element& element : elements) values.push_back(element.*value);
    note_gaps(values, static_cast<std::size_t>(options_.beam));
    std::ranges::stable_sort(elements, std::ranges::greater(), value);
    if (std::ssize(elements) > options_.beam) elements.resize(static_cast<std::size_t>(options_.beam));
  }

  bool is_done(const Sequence& best) {
    if (std::ssize(finished_) < options_.beam) return false;
    if (options_.stop_when == StopWhen::kFull) return true;
    const bool is_certain = options_.stop_when == StopWhen::kCertain;
    const double possible =
        score(best.log_probability, is_certain ? static_cast<std::size_t>(options_.max_length) : best.tokens.size());
    note_gaps({possible, finished_.back().score}, 1);
    return possible <= finished_.back().score;
  }

  /// Notes the gaps between the best `count` values and those after them.
  void note_gaps(std::vector<double> values, std::size_t count) {
    std::ranges::sort(values, std::ranges::greater());
    for (std::size_t i = 0; i < count && i + 1 < values.size() && values[i + 1] != kImpossible; ++i) {
      smallest_gap_ = std::min(smallest_gap_, values[i] - values[i + 1]);
    }
  }

  const Table& table_;
  const SearchInput& input_;
  const SearchOptions& options_;
  Tokens prompt_;
  std::vector<Hypothesis> finished_;
  double smallest_gap_ = std::numeric_limits<double>::infinity();
};

}  // namespace

PlainOutputs plain_generate(const Table& table, const SearchInput& input, const SearchOptions& options) {
  return PlainGenerate(table, input, options).run();
}

}  // namespace edgewise
