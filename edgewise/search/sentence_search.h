// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/base/random.h"
#include "edgewise/graph/hypothesis_tree.h"
#include "edgewise/search/extension.h"
#include "edgewise/search/hypothesis.h"
#include "edgewise/search/rules.h"
#include "edgewise/search/step.h"

namespace edgewise {

struct SearchInput {
  Tokens tokens;
  Tokens prefix = {};   // first tokens of the output
  std::int64_t id = 0;  // identifies the input to the caller, and selects the random stream of its samples
};

/// The search of one sentence. In each step `add_requests` requests scores for its new nodes, and `advance` extends the
/// active hypotheses by a token. Beam search, sampling and scoring differ only in how they choose the token.
class SentenceSearch {
 public:
  /// `rules` must outlive the search.
  SentenceSearch(const SearchRules& rules, std::int64_t slot, SearchInput input);

  void add_requests(Step& step);
  void advance(const Step& step);

  bool is_done() const { return active_.empty(); }
  const SearchInput& input() const { return input_; }

  /// Returns at most n_best hypotheses, best first.
  std::vector<Hypothesis> take_results();

 private:
  struct ActiveHypothesis {
    NodeIndex node = 0;
    double log_probability = 0.0;
    RandomStream random;
  };

  void add_first_nodes();
  void request_continuations(NodeIndex node, Step& step);
  void request_token(std::int64_t token, Step& step) const;
  void request_restricted(NodeIndex node, Step& step) const;
  bool is_forced(NodeIndex node) const { return tree_.depth(node) < static_cast<std::int64_t>(input_.prefix.size()); }
  bool must_end(NodeIndex node) const;

  void store_attention(const Step& step);
  void store_ponder_steps(const Step& step);
  void add_prefix_score(const Step& step);
  std::vector<NextToken> next_tokens(NodeIndex node, const Step& step) const;
  void add_candidates(NodeIndex node, const Step& step, std::vector<NextToken>& next) const;
  std::size_t row_of(NodeIndex node) const { return first_row_ + static_cast<std::size_t>(node - first_node_); }
  double check_log_probability(float log_probability, NodeIndex node, std::int64_t token) const;

  std::vector<Extension> choose(const Step& step);
  void extend(const std::vector<Extension>& extensions);
  void finish(NodeIndex node, double log_probability);
  double coverage_penalty_of(NodeIndex node) const;
  std::vector<float> attention_of(NodeIndex node) const;
  std::vector<std::int64_t> ponder_steps_of(NodeIndex node) const;
  bool can_stop(const std::vector<ActiveHypothesis>& extended) const;

  const SearchRules& rules_;
  std::int64_t slot_;
  SearchInput input_;
  std::int64_t longest_;
  std::int64_t shortest_;
  HypothesisTree tree_;
  std::vector<float> attention_;            // [nodes, input], if needed
  std::vector<std::int64_t> ponder_steps_;  // [nodes], if the model has adaptive computation time
  std::vector<ActiveHypothesis> active_;    // best first
  std::vector<Hypothesis> finished_;        // best first

  // Offsets of this sentence in the current step.
  NodeIndex first_node_ = 0;
  std::size_t first_row_ = 0;
  std::size_t first_weight_ = 0;
  std::vector<std::size_t> wanted_begin_;  // [new nodes + 1]: where each node's wanted continuations begin
};

}  // namespace edgewise
