// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/base/random.h"
#include "edgewise/graph/hypothesis_tree.h"
#include "edgewise/search/choice.h"
#include "edgewise/search/hypothesis.h"
#include "edgewise/search/rules.h"
#include "edgewise/search/step.h"

namespace edgewise {

struct SearchInput {
  Tokens tokens;
  Tokens prefix = {};   // what the output begins with
  std::int64_t id = 0;  // what the caller calls it; its samples are drawn from a stream of this number
};

/// The search of one sentence. It goes from step to step: `ask` says what it wants to know of its living hypotheses,
/// `advance` takes each a token further by the answer. Beam, sampling and scoring differ only in how they choose.
class SentenceSearch {
 public:
  /// The rules must outlive it.
  SentenceSearch(const Rules& rules, std::int64_t place, SearchInput input);

  void ask(Step& step);
  void advance(const Step& step);

  bool is_over() const { return living_.empty(); }
  const SearchInput& input() const { return input_; }

  /// The best that were found, best first: as many as wanted, where there are so many.
  std::vector<Hypothesis> take_found();

 private:
  struct Living {
    NodeIndex node = 0;
    double log_probability = 0.0;
    RandomStream random;
  };

  void plant();
  void ask_about(NodeIndex node, Step& step);
  void want(std::int64_t token, Step& step) const;
  void restrict_repeats(NodeIndex node, Step& step) const;
  bool is_forced(NodeIndex node) const { return tree_.depth(node) < static_cast<std::int64_t>(input_.prefix.size()); }
  bool must_end(NodeIndex node) const;

  void read_attention(const Step& step);
  void read_steps(const Step& step);
  void follow_prefix(const Step& step);
  std::vector<Follower> followers(NodeIndex node, const Step& step) const;
  void add_candidates(NodeIndex node, const Step& step, std::vector<Follower>& found) const;
  std::size_t row_of(NodeIndex node) const { return first_row_ + static_cast<std::size_t>(node - first_node_); }
  double accepted(float log_probability, NodeIndex node, std::int64_t token) const;

  std::vector<Choice> choose(const Step& step);
  void take(const std::vector<Choice>& choices);
  void end(NodeIndex node, double log_probability);
  double coverage_of(NodeIndex node) const;
  std::vector<float> attention_of(NodeIndex node) const;
  std::vector<std::int64_t> steps_of(NodeIndex node) const;
  bool is_decided(const std::vector<Living>& going_on) const;

  const Rules& rules_;
  std::int64_t place_;
  SearchInput input_;
  std::int64_t longest_;
  std::int64_t shortest_;
  HypothesisTree tree_;
  std::vector<float> attention_;     // [nodes, input], if needed
  std::vector<std::int64_t> steps_;  // [nodes], if the model tells them
  std::vector<Living> living_;       // best first
  std::vector<Hypothesis> ended_;    // best first

  // Of the step that was asked.
  NodeIndex first_node_ = 0;
  std::size_t first_row_ = 0;
  std::size_t first_weight_ = 0;
  std::vector<std::size_t> wanted_begin_;  // of each new node's wanted continuations, and one past the last
};

}  // namespace edgewise
