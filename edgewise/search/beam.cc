// SPDX-License-Identifier: Apache-2.0
#include "edgewise/search/beam.h"

#include <algorithm>
#include <utility>

#include "edgewise/search/growth.h"

namespace edgewise {

namespace {

struct Living {
  NodeIndex node = 0;
  double log_probability = 0.0;
};

struct Candidate {
  std::size_t parent = 0;  // place among the living
  std::int64_t token = 0;
  double log_probability = 0.0;
};

bool is_better(const Candidate& a, const Candidate& b) {
  if (a.log_probability != b.log_probability) return a.log_probability > b.log_probability;
  return std::pair(a.parent, a.token) < std::pair(b.parent, b.token);
}

/// The `count` best candidates of those offered.
class Best {
 public:
  explicit Best(std::size_t count) : count_(count) {}

  void offer(const Candidate& candidate) {
    if (heap_.size() == count_) {
      if (!is_better(candidate, heap_.front())) return;
      std::pop_heap(heap_.begin(), heap_.end(), is_better);
      heap_.pop_back();
    }
    heap_.push_back(candidate);
    std::push_heap(heap_.begin(), heap_.end(), is_better);
  }

  std::vector<Candidate> take() {
    std::sort_heap(heap_.begin(), heap_.end(), is_better);
    return std::move(heap_);
  }

 private:
  std::size_t count_;
  std::vector<Candidate> heap_;  // the worst in front
};

/// The beam of one sentence.
class Beam {
 public:
  Beam(Growth& growth, const Rules& rules, const BeamOptions& options, std::int64_t sentence, std::int64_t longest)
      : growth_(growth), rules_(rules), options_(options), sentence_(sentence), longest_(longest) {
    living_.push_back({growth_.add(sentence, HypothesisTree::kRoot, rules_.begin_token()), 0.0});
  }

  /// Takes every living hypothesis a token further, by what the last step says of their nodes.
  void advance() {
    const std::vector<Living> before = std::exchange(living_, {});
    std::vector<Candidate> going_on;
    for (const Candidate& candidate : best_continuations(before)) {
      if (candidate.token == rules_.end_token()) {
        end(before[candidate.parent].node, candidate.log_probability);
      } else {
        going_on.push_back(candidate);
      }
    }
    if (is_decided(going_on)) return;
    for (const Candidate& candidate : going_on) {
      const NodeIndex node = growth_.add(sentence_, before[candidate.parent].node, candidate.token);
      living_.push_back({node, candidate.log_probability});
    }
  }

  std::vector<Hypothesis> take_ended() { return std::move(ended_); }

 private:
  std::vector<Candidate> best_continuations(const std::vector<Living>& living) const {
    Best best(static_cast<std::size_t>(options_.width) - ended_.size());
    for (std::size_t parent = 0; parent < living.size(); ++parent) {
      const NodeIndex node = living[parent].node;
      const std::span<const float> log_probabilities = growth_.log_probabilities(node);
      for (const std::int64_t token : rules_.continuations(growth_.length(node), longest_)) {
        best.offer({parent, token, living[parent].log_probability + log_probabilities[token]});
      }
    }
    return best.take();
  }

  void end(NodeIndex node, double log_probability) {
    Hypothesis hypothesis{growth_.tokens(node), rules_.score(log_probability, growth_.length(node) + 1)};
    // After its equals: the earlier hypothesis wins.
    const auto place = std::upper_bound(ended_.begin(), ended_.end(), hypothesis,
                                        [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
    ended_.insert(place, std::move(hypothesis));
  }

  /// Whether none of those going on can get among the best that are wanted. A log-probability can only fall, and is
  /// divided by most at the longest output, so that is the most that one can still be worth.
  bool is_decided(const std::vector<Candidate>& going_on) const {
    if (going_on.empty()) return true;
    if (static_cast<std::int64_t>(ended_.size()) < options_.num_wanted) return false;
    return ended_[options_.num_wanted - 1].score >= rules_.score(going_on.front().log_probability, longest_ + 1);
  }

  Growth& growth_;
  const Rules& rules_;
  const BeamOptions& options_;
  std::int64_t sentence_;
  std::int64_t longest_;
  std::vector<Living> living_;     // best first
  std::vector<Hypothesis> ended_;  // best first
};

}  // namespace

std::vector<std::vector<Hypothesis>> search_beam(Scorer& scorer, std::span<const Tokens> inputs, const Rules& rules,
                                                 const BeamOptions& options) {
  Growth growth(scorer, inputs);
  std::vector<Beam> beams;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::int64_t longest = rules.longest_output(static_cast<std::int64_t>(inputs[i].size()));
    beams.emplace_back(growth, rules, options, static_cast<std::int64_t>(i), longest);
  }
  while (growth.step()) {
    for (Beam& beam : beams) beam.advance();
  }
  std::vector<std::vector<Hypothesis>> results;
  for (Beam& beam : beams) results.push_back(beam.take_ended());
  return results;
}

}  // namespace edgewise
