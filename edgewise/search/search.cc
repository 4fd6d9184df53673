// SPDX-License-Identifier: Apache-2.0
#include "edgewise/search/search.h"

#include <map>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/search/rules.h"
#include "edgewise/search/step.h"

namespace edgewise {

namespace {

/// Keeps the places filled, and all that is in them going.
class Search {
 public:
  Search(Scorer& scorer, SearchQueue& queue, const Rules& rules, const SearchCapacity& capacity)
      : scorer_(scorer), queue_(queue), rules_(rules), capacity_(capacity) {
    for (std::int64_t place = capacity.sentences - 1; place >= 0; --place) free_places_.push_back(place);
  }

  void run() {
    while (refill()) {
      step_.clear();
      for (auto& [place, sentence] : running_) sentence.ask(step_);
      step_.run(scorer_, rules_);
      for (auto& [place, sentence] : running_) sentence.advance(step_);
      release_ended();
    }
  }

 private:
  /// False when nothing is left to do.
  bool refill() {
    std::vector<std::int64_t> places;
    std::vector<Tokens> inputs;
    while (!free_places_.empty() && pull() && has_room()) {
      const std::int64_t place = free_places_.back();
      free_places_.pop_back();
      places.push_back(place);
      inputs.push_back(pulled_->tokens);
      num_tokens_ += std::ssize(pulled_->tokens);
      running_.try_emplace(place, rules_, place, *std::exchange(pulled_, std::nullopt));
    }
    if (!places.empty()) scorer_.read(places, inputs);
    return !running_.empty();
  }

  /// Whether there is an input that waits for a place.
  bool pull() {
    while (!pulled_) {
      pulled_ = queue_.next(!running_.empty());
      if (!pulled_) return false;
      check_prefix(pulled_->prefix);
      if (pulled_->tokens.empty()) queue_.found(*std::exchange(pulled_, std::nullopt), {Hypothesis()});
    }
    return true;
  }

  void check_prefix(const Tokens& prefix) const {
    for (const std::int64_t token : prefix) {
      check(token >= 0 && token < rules_.vocabulary_size(),
            "search: a prefix has token {}, but the vocabulary has {} tokens, counted from 0", token,
            rules_.vocabulary_size());
    }
  }

  bool has_room() const {
    return running_.empty() || capacity_.tokens == 0 || num_tokens_ + std::ssize(pulled_->tokens) <= capacity_.tokens;
  }

  void release_ended() {
    for (auto running = running_.begin(); running != running_.end();) {
      auto& [place, sentence] = *running;
      if (!sentence.is_over()) {
        ++running;
        continue;
      }
      free_places_.push_back(place);
      num_tokens_ -= std::ssize(sentence.input().tokens);
      queue_.found(sentence.input(), sentence.take_found());
      running = running_.erase(running);
    }
  }

  Scorer& scorer_;
  SearchQueue& queue_;
  const Rules& rules_;
  SearchCapacity capacity_;
  std::vector<std::int64_t> free_places_;
  std::map<std::int64_t, SentenceSearch> running_;  // by place
  std::optional<SearchInput> pulled_;
  std::int64_t num_tokens_ = 0;  // of the inputs of those running
  Step step_;
};

/// Inputs that are all there, with their numbers as ids.
class ListQueue : public SearchQueue {
 public:
  explicit ListQueue(std::span<const SearchInput> inputs) : results(inputs.size()), inputs_(inputs) {}

  std::optional<SearchInput> next(bool) override {
    if (next_ == inputs_.size()) return std::nullopt;
    SearchInput input = inputs_[next_];
    input.id = static_cast<std::int64_t>(next_++);
    return input;
  }

  void found(SearchInput input, std::vector<Hypothesis> best) override {
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
  check(capacity.sentences >= 1, "search: capacity.sentences is {}, at least 1 is needed", capacity.sentences);
  check(capacity.tokens >= 0, "search: capacity.tokens is {}, at least 0 is needed", capacity.tokens);
  const Rules rules(options, scorer.vocabulary_size());
  Search(scorer, queue, rules, capacity).run();
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
  for (const Tokens& tokens : inputs) with_ids.push_back({.tokens = tokens, .prefix = {}, .id = 0});
  return search(scorer, with_ids, options, capacity);
}

}  // namespace edgewise
