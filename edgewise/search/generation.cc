// SPDX-License-Identifier: Apache-2.0
#include "edgewise/search/generation.h"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_set>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/random.h"
#include "edgewise/search/hypothesis.h"

namespace edgewise {
namespace {

/// A continuation in progress.
struct Sample {
  std::int64_t number;
  std::int64_t token;  // the last token of the text
  RandomStream random;
  NodeIndex parent = 0;  // the node before the last token
  std::int64_t row = 0;  // row of the last token in the current step
  std::int64_t length = 0;
  std::unordered_set<std::int64_t> seen = {};  // tokens of the text, if they are penalised
  Tokens last = {};                            // last tokens of the text, if its context has a limit
};

/// The continuations in progress of a text; one of them, if the text is longer than its context.
struct RunningText {
  GenerationInput input;         // without the prompt
  std::int64_t num_samples = 1;  // samples that the text takes of the capacity
  NodeIndex next_node = 0;
  bool is_begun = false;  // whether each sample has a token of its own
  std::vector<Sample> samples = {};
};

void check_input(const GenerationInput& input, std::int64_t vocabulary) {
  check(!input.prompt.empty(), "generate: a prompt is empty, needs at least one token");
  for (const std::int64_t token : input.prompt) {
    check(token >= 0 && token < vocabulary, "generate: a prompt has token {}, needs a number in [0, {})", token,
          vocabulary);
  }
  check(input.samples >= 1, "generate: samples is {}, needs at least 1", input.samples);
  check(input.max_tokens >= 1, "generate: max_tokens is {}, needs at least 1", input.max_tokens);
  check(input.context >= 0, "generate: context is {}, needs at least 0", input.context);
  check(input.repetition_penalty >= 1, "generate: repetition_penalty is {}, needs at least 1",
        input.repetition_penalty);
}

/// Removes the tokens at the beginning of a text that are not computed.
void leave_out(Tokens& tokens, std::int64_t context) {
  const std::int64_t more = std::ssize(tokens) - context;
  if (context == 0 || more <= 0) return;
  const std::int64_t half = std::max<std::int64_t>(context / 2, 1);
  tokens.erase(tokens.begin(), tokens.begin() + (more + half - 1) / half * half);
}

/// Runs steps for the texts in the slots, and refills free slots from the queue.
class Generation {
 public:
  Generation(Scorer& scorer, GenerationQueue& queue, const GenerationRules& rules, std::int64_t capacity)
      : scorer_(scorer), queue_(queue), rules_(rules), capacity_(capacity) {}

  void run() {
    while (!queue_.is_stopped() && refill()) {
      request_rows();
      scorer_.step({.nodes = nodes_,
                    .num_candidates = num_candidates_,
                    .allowed = rules_.allowed,
                    .excluded = excluded_,
                    .all = needs_all_},
                   result_);
      for (auto& [slot, text] : running_) advance(text);
      std::erase_if(running_, [&](const auto& running) {
        if (!running.second.samples.empty()) return false;
        num_samples_ -= running.second.num_samples;
        free_slots_.push_back(running.first);
        return true;
      });
    }
  }

 private:
  /// Returns false at the end of the queue.
  bool refill() {
    slots_.clear();
    beginnings_.clear();
    shorten_contexts();
    while (fetch_next() && (running_.empty() || num_samples_ + next_->samples <= capacity_)) {
      begin(*std::exchange(next_, std::nullopt));
    }
    if (!slots_.empty()) scorer_.encode(slots_, beginnings_);
    return !running_.empty();
  }

  /// Computes the last tokens of the texts that are longer than their contexts anew. Each of their samples gets a slot.
  void shorten_contexts() {
    std::vector<std::int64_t> full;
    for (const auto& [slot, text] : running_) {
      const std::int64_t context = text.input.context;
      if (context > 0 && std::ssize(text.samples.front().last) > context) full.push_back(slot);
    }
    for (const std::int64_t slot : full) {
      RunningText text = std::move(running_.extract(slot).mapped());
      free_slots_.push_back(slot);
      num_samples_ -= text.num_samples;
      for (Sample& sample : text.samples) {
        leave_out(sample.last, text.input.context);
        const Tokens last = sample.last;
        put({.input = text.input, .samples = {std::move(sample)}}, last);
      }
    }
  }

  /// Returns whether `next_` holds a text, after reading the queue if necessary.
  bool fetch_next() {
    if (!next_) next_ = queue_.next(!running_.empty());
    if (next_) check_input(*next_, scorer_.vocabulary_size());
    return next_.has_value();
  }

  void begin(GenerationInput input) {
    Tokens tokens = std::exchange(input.prompt, {});
    std::unordered_set<std::int64_t> seen;
    if (input.repetition_penalty != 1) seen = {tokens.begin(), tokens.end()};
    leave_out(tokens, input.context);
    std::vector<Sample> samples;
    for (std::int64_t i = 0; i < input.samples; ++i) {
      samples.push_back({.number = i,
                         .token = tokens.back(),
                         .random = RandomStream(input.seed, static_cast<std::uint64_t>(i)),
                         .seen = seen,
                         .last = input.context > 0 ? tokens : Tokens()});
    }
    const std::int64_t num_samples = input.samples;
    put({.input = std::move(input), .num_samples = num_samples, .samples = std::move(samples)}, tokens);
  }

  /// Puts a text into a slot. The scorer gets `last`, the last tokens of the text, without the last one.
  void put(RunningText text, const Tokens& last) {
    if (free_slots_.empty()) free_slots_.push_back(std::ssize(running_));
    slots_.push_back(free_slots_.back());
    free_slots_.pop_back();
    beginnings_.emplace_back(last.begin(), last.end() - 1);
    num_samples_ += text.num_samples;
    text.next_node = static_cast<NodeIndex>(last.size() - 1);
    for (Sample& sample : text.samples) sample.parent = text.next_node - 1;
    running_.emplace(slots_.back(), std::move(text));
  }

  /// Adds a node for the last token of each sample, or one for all samples if that is the prompt's.
  void request_rows() {
    nodes_.clear();
    excluded_.clear();
    num_candidates_ = 0;
    needs_all_ = false;
    for (auto& [slot, text] : running_) {
      for (Sample& sample : text.samples) {
        if (text.is_begun || &sample == &text.samples.front()) add_row(slot, text, sample);
        sample.row = std::ssize(nodes_) - 1;
        sample.parent = text.next_node - 1;
      }
      if (needs_all(text.input)) {
        needs_all_ = true;
      } else {
        num_candidates_ = std::max(num_candidates_, most_candidates(text.input));
      }
    }
  }

  void add_row(std::int64_t slot, RunningText& text, const Sample& sample) {
    check(text.next_node < std::numeric_limits<NodeIndex>::max(), "generate: a text has {} tokens, needs at most {}",
          text.next_node, std::numeric_limits<NodeIndex>::max());
    nodes_.push_back({slot, sample.parent, sample.token});
    ++text.next_node;
    if (!text.input.ignore_end) return;
    for (const std::int64_t token : rules_.end_tokens) excluded_.push_back({std::ssize(nodes_) - 1, token});
  }

  static bool needs_all(const GenerationInput& input) {
    return input.repetition_penalty != 1 || (input.sampling.temperature > 0 && input.sampling.top_k == 0);
  }

  std::int64_t most_candidates(const GenerationInput& input) const {
    const std::int64_t most = input.sampling.temperature > 0 ? input.sampling.top_k : 1;
    return std::min(most, scorer_.vocabulary_size());
  }

  void advance(RunningText& text) {
    const GenerationInput& input = text.input;
    text.is_begun = true;
    std::erase_if(text.samples, [&](Sample& sample) {
      const std::int64_t token = sample_token(next_tokens(input, sample), input.sampling, sample.random).token;
      ++sample.length;
      std::optional<FinishReason> reason;
      if (rules_.is_end(token)) {
        reason = FinishReason::kEnd;
      } else if (!queue_.put_token(input.id, sample.number, token)) {
        reason = FinishReason::kStop;
      } else if (sample.length == input.max_tokens) {
        reason = FinishReason::kLength;
      }
      if (reason) queue_.put_end(input.id, sample.number, *reason);
      sample.token = token;
      if (input.context > 0) sample.last.push_back(token);
      if (input.repetition_penalty != 1) sample.seen.insert(token);
      return reason.has_value();
    });
  }

  /// Returns the tokens that may follow a sample, with penalties.
  std::vector<NextToken> next_tokens(const GenerationInput& input, const Sample& sample) const {
    std::vector<NextToken> next;
    if (needs_all(input)) {
      const auto vocabulary = static_cast<std::size_t>(scorer_.vocabulary_size());
      const float* log_probabilities = result_.log_probabilities.data() + sample.row * scorer_.vocabulary_size();
      for (std::size_t token = 0; token < vocabulary; ++token) {
        const auto number = static_cast<std::int64_t>(token);
        if (rules_.allowed[token] == 0 || (input.ignore_end && rules_.is_end(number))) continue;
        next.push_back({number, check_log_probability(log_probabilities[token], number)});
        if (sample.seen.contains(number)) next.back().log_probability *= input.repetition_penalty;
      }
    } else {
      const Candidate* candidates = result_.candidates.data() + sample.row * num_candidates_;
      for (std::int64_t i = 0; i < most_candidates(input) && candidates[i].token >= 0; ++i) {
        next.push_back(
            {candidates[i].token, check_log_probability(candidates[i].log_probability, candidates[i].token)});
      }
    }
    check(!next.empty(), "generate: the model gives no token, needs one; the model computes infinite numbers or NaN");
    return next;
  }

  static double check_log_probability(float log_probability, std::int64_t token) {
    constexpr float kRounding = 1e-4f;
    check(log_probability <= kRounding, "generate: the model gives {} for token {}, needs a log-probability",
          log_probability, token);
    return std::min(log_probability, 0.0f);
  }

  Scorer& scorer_;
  GenerationQueue& queue_;
  const GenerationRules& rules_;
  std::int64_t capacity_;
  std::vector<std::int64_t> free_slots_;
  std::map<std::int64_t, RunningText> running_;  // by slot
  std::int64_t num_samples_ = 0;                 // samples of the texts in running_
  std::optional<GenerationInput> next_;
  std::vector<std::int64_t> slots_;  // slots whose texts begin with the next step
  std::vector<Tokens> beginnings_;

  // The current step.
  std::vector<NewNode> nodes_;
  std::vector<Continuation> excluded_;
  std::int64_t num_candidates_ = 0;
  bool needs_all_ = false;
  StepResult result_;
};

}  // namespace

void generate(Scorer& scorer, GenerationQueue& queue, const GenerationRules& rules, std::int64_t capacity) {
  const std::int64_t vocabulary = scorer.vocabulary_size();
  check(std::ssize(rules.allowed) == vocabulary, "generate: rules.allowed has {} tokens, needs the {} of the model",
        rules.allowed.size(), vocabulary);
  check(!rules.end_tokens.empty(), "generate: rules.end_tokens is empty, needs at least one token");
  for (const std::int64_t token : rules.end_tokens) {
    check(token >= 0 && token < vocabulary, "generate: rules.end_tokens holds {}, needs numbers in [0, {})", token,
          vocabulary);
  }
  check(capacity >= 1, "generate: capacity is {}, needs at least 1", capacity);
  Generation(scorer, queue, rules, capacity).run();
}

}  // namespace edgewise
