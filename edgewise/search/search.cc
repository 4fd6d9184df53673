// SPDX-License-Identifier: Apache-2.0
#include "edgewise/search/search.h"

#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/search/rules.h"

namespace edgewise {
namespace {

// A prefix of n tokens, with those that are forced, is scored in one step, whose tokens attend to n²/2 ancestors: 0.5
// GB for 10 000 tokens. All prefixes of a step together have at most as many ancestors as one prefix may have.
constexpr std::int64_t kMaxSquaresOfStep = kMaxPrefix * kMaxPrefix;

/// Runs decoding steps for the sentences in the slots, and refills free slots from the queue.
class Search {
 public:
  Search(Scorer& scorer, SearchQueue& queue, const SearchRules& rules, const SearchCapacity& capacity)
      : scorer_(scorer), queue_(queue), rules_(rules), capacity_(capacity) {
    for (std::int64_t slot = capacity.sentences - 1; slot >= 0; --slot) free_slots_.push_back(slot);
  }

  void run() {
    while (!queue_.is_stopped()) {
      release(&SentenceSearch::is_stopped);
      if (!refill()) return;
      step_.clear();
      for (auto& [slot, sentence] : running_) sentence.add_requests(step_);
      step_.run(scorer_, rules_);
      for (auto& [slot, sentence] : running_) sentence.advance(step_);
      restart_loops();
      release(&SentenceSearch::is_done);
    }
  }

 private:
  /// Returns false at the end of the search.
  bool refill() {
    std::vector<std::int64_t> slots;
    std::vector<Tokens> inputs;
    std::int64_t squares = 0;
    while (!free_slots_.empty() && fetch_next_input() && has_capacity(squares)) {
      squares += square_of_prefix(*next_input_);
      const std::int64_t slot = free_slots_.back();
      free_slots_.pop_back();
      slots.push_back(slot);
      inputs.push_back(next_input_->tokens);
      num_tokens_ += std::ssize(next_input_->tokens);
      running_.try_emplace(slot, rules_, slot, *std::exchange(next_input_, std::nullopt));
    }
    if (!slots.empty()) scorer_.encode(slots, inputs);
    return !running_.empty();
  }

  /// Returns whether `next_input_` holds an input that needs a slot, after reading the queue if necessary.
  bool fetch_next_input() {
    while (!next_input_) {
      next_input_ = queue_.next(!running_.empty());
      if (!next_input_) return false;
      check_first_tokens(*next_input_);
      if (next_input_->tokens.empty()) queue_.put_result(*std::exchange(next_input_, std::nullopt), {Hypothesis()});
    }
    return true;
  }

  void check_first_tokens(const SearchInput& input) const {
    check(num_first_tokens(input) <= kMaxPrefix, "search: a prefix has {} tokens, needs at most {}",
          num_first_tokens(input), kMaxPrefix);
    check_tokens(input.forced, "forced beginning");
    check_tokens(input.prefix, "prefix");
  }

  void check_tokens(const Tokens& tokens, std::string_view name) const {
    for (const std::int64_t token : tokens) {
      check(token >= 0 && token < rules_.vocabulary_size(),
            "search: a {} has token {}, but the vocabulary has {} tokens, counted from 0", name, token,
            rules_.vocabulary_size());
    }
  }

  static std::int64_t num_first_tokens(const SearchInput& input) {
    return std::ssize(input.forced) + std::ssize(input.prefix);
  }

  static std::int64_t square_of_prefix(const SearchInput& input) {
    return num_first_tokens(input) * num_first_tokens(input);
  }

  /// Returns whether the next input may run beside the others; `squares` is the sum of the squares of the prefixes
  /// that begin in this step.
  bool has_capacity(std::int64_t squares) const {
    if (squares + square_of_prefix(*next_input_) > kMaxSquaresOfStep) return false;
    return running_.empty() || capacity_.tokens == 0 ||
           num_tokens_ + std::ssize(next_input_->tokens) <= capacity_.tokens;
  }

  void restart_loops() {
    std::vector<std::int64_t> slots;
    std::vector<Tokens> inputs;
    for (auto& [slot, sentence] : running_) {
      if (!sentence.needs_restart()) continue;
      sentence.restart();
      slots.push_back(slot);
      inputs.push_back(sentence.input().tokens);
    }
    if (!slots.empty()) scorer_.encode(slots, inputs);
  }

  /// Ends the sentences for which a condition holds; those that are not done have no results.
  void release(bool (SentenceSearch::*condition)() const) {
    for (auto running = running_.begin(); running != running_.end();) {
      auto& [slot, sentence] = *running;
      if (!(sentence.*condition)()) {
        ++running;
        continue;
      }
      free_slots_.push_back(slot);
      num_tokens_ -= std::ssize(sentence.input().tokens);
      auto best = sentence.is_done() ? sentence.take_results() : std::vector<Hypothesis>();
      queue_.put_result(sentence.take_input(), std::move(best));
      running = running_.erase(running);
    }
  }

  Scorer& scorer_;
  SearchQueue& queue_;
  const SearchRules& rules_;
  SearchCapacity capacity_;
  std::vector<std::int64_t> free_slots_;
  std::map<std::int64_t, SentenceSearch> running_;  // by slot
  std::optional<SearchInput> next_input_;
  std::int64_t num_tokens_ = 0;  // input tokens of the sentences in running_
  Step step_;
};

/// Serves a list of inputs, with their indices as ids.
class ListQueue : public SearchQueue {
 public:
  explicit ListQueue(std::span<const SearchInput> inputs) : results(inputs.size()), inputs_(inputs) {}

  std::optional<SearchInput> next(bool) override {
    if (next_ == inputs_.size()) return std::nullopt;
    SearchInput input = inputs_[next_];
    input.id = static_cast<std::int64_t>(next_++);
    return input;
  }

  void put_result(SearchInput input, std::vector<Hypothesis> best) override {
    results[static_cast<std::size_t>(input.id)] = std::move(best);
  }

  std::vector<std::vector<Hypothesis>> results;

 private:
  std::span<const SearchInput> inputs_;
  std::size_t next_ = 0;
};

}  // namespace

void search(Scorer& scorer, SearchQueue& queue, const SearchOptions& options, const SearchCapacity& capacity) {
  check_options(options, scorer.vocabulary_size());
  check(capacity.sentences >= 1, "search: capacity.sentences is {}, needs at least 1", capacity.sentences);
  check(capacity.tokens >= 0, "search: capacity.tokens is {}, needs at least 0", capacity.tokens);
  const std::unique_ptr<const SearchRules> rules = make_search_rules(options, scorer.vocabulary_size());
  Search(scorer, queue, *rules, capacity).run();
}

std::vector<std::vector<Hypothesis>> search(Scorer& scorer, std::span<const SearchInput> inputs,
                                            const SearchOptions& options, const SearchCapacity& capacity) {
  ListQueue queue(inputs);
  search(scorer, queue, options, capacity);
  return std::move(queue.results);
}

std::vector<std::vector<Hypothesis>> search(Scorer& scorer, std::span<const Tokens> inputs,
                                            const SearchOptions& options, const SearchCapacity& capacity) {
  std::vector<SearchInput> with_ids;
  for (const Tokens& tokens : inputs) with_ids.push_back({.tokens = tokens});
  return search(scorer, with_ids, options, capacity);
}

}  // namespace edgewise
