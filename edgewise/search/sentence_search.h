// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "edgewise/base/random.h"
#include "edgewise/base/stop_request.h"
#include "edgewise/graph/hypothesis_tree.h"
#include "edgewise/search/hypothesis.h"
#include "edgewise/search/restrictions.h"
#include "edgewise/search/rules.h"
#include "edgewise/search/scorer.h"

namespace edgewise {

/// A decoding step of all active sentences: each sentence adds its requests, and reads its part of the result after
/// `run`.
struct Step {
  std::vector<NewNode> nodes;
  std::vector<Continuation> excluded;
  std::vector<Continuation> wanted;
  std::size_t num_weights = 0;  // attention weights in the result, if requested
  bool attention = false;       // whether a sentence needs them
  StepResult result;

  /// Removes all requests; keeps allocated memory.
  void clear() {
    nodes.clear();
    excluded.clear();
    wanted.clear();
    num_weights = 0;
    attention = false;
  }

  void run(Scorer& scorer, const SearchRules& rules) {
    scorer.step({.nodes = nodes,
                 .num_candidates = rules.num_candidates(),
                 .allowed = rules.allowed(),
                 .excluded = excluded,
                 .wanted = wanted,
                 .all = rules.needs_all_continuations(),
                 .attention = attention},
                result);
  }
};

struct SearchInput {
  Tokens tokens;
  Tokens forced = {};       // first tokens of the output, such as its language; their log-probability does not count
  Tokens prefix = {};       // next tokens of the output
  std::int64_t id = 0;      // identifies the input to the caller, and selects the random stream of its samples
  std::int64_t n_best = 0;  // most hypotheses, if fewer than those of the options; 0: as in the options
  Tokens once = {};         // tokens of SearchOptions::once that the output may have
  bool attention = false;  // whether hypotheses have attention weights; SearchOptions::attention gives all of them some
  const StopRequest* stop = nullptr;  // ends the search of this input, which then has no hypothesis; may be null
};

/// The search of one sentence. In each step `add_requests` requests scores for its new nodes, and `advance` extends the
/// active hypotheses by a token. Beam search, sampling and scoring differ only in how they choose the token.
class SentenceSearch {
 public:
  /// `rules` must outlive the search.
  SentenceSearch(const SearchRules& rules, std::int64_t slot, SearchInput input);

  void add_requests(Step& step);
  void advance(const Step& step);

  /// Returns whether the sentence needs a new search without loops. The caller then discards the nodes in the slot and
  /// calls restart().
  bool needs_restart() const;
  void restart();

  bool is_done() const { return active_.empty(); }
  bool is_stopped() const { return input_.stop != nullptr && *input_.stop; }
  const SearchInput& input() const { return input_; }

  /// Returns the input, whose search is over.
  SearchInput take_input() { return std::move(input_); }

  /// Returns at most n_best hypotheses, best first.
  std::vector<Hypothesis> take_results();

 private:
  struct ActiveHypothesis {
    NodeIndex node = 0;
    double log_probability = 0.0;
    RandomStream random;
  };
  /// The requests for a new node.
  struct NodeRequest {
    std::size_t first_wanted;  // index of the first wanted continuation in the step
    std::size_t num_excluded;
    std::vector<RestrictedToken> needed;  // the wanted continuations, unless the next token is given
  };

  void add_first_nodes();
  bool contains_loop(NodeIndex node) const {
    const auto index = static_cast<std::size_t>(node);
    return index < has_loop_.size() && has_loop_[index];
  }
  bool contains_loop(std::span<const std::int64_t> tokens) const;
  void find_loop(NodeIndex node);
  std::int64_t num_first_tokens() const { return std::ssize(input_.forced) + std::ssize(input_.prefix); }
  bool has_next_first_token(NodeIndex node) const { return tree_.depth(node) < num_first_tokens(); }
  bool has_scored_next_token(NodeIndex node) const;
  bool is_at_limit(NodeIndex node) const { return tree_.depth(node) >= longest_; }
  std::int64_t scored_length(std::int64_t length) const;
  bool returns_attention() const { return rules_.options().attention || input_.attention; }
  bool needs_attention() const { return rules_.needs_attention() || input_.attention; }

  void request_continuations(NodeIndex node, Step& step);
  void request_restricted(NodeIndex node, Step& step);
  const NodeRequest& request_of(NodeIndex node) const {
    return requests_[static_cast<std::size_t>(node - first_node_)];
  }

  void store_attention(const Step& step);
  void store_ponder_steps(const Step& step);
  void add_prefix_score(const Step& step);
  std::vector<NextToken> next_tokens(NodeIndex node, const Step& step) const;
  std::vector<NextToken> unrestricted_tokens(NodeIndex node, const Step& step) const;
  std::size_t row_of(NodeIndex node) const { return first_row_ + static_cast<std::size_t>(node - first_node_); }
  double wanted_log_probability(NodeIndex node, std::size_t index, const Step& step) const;
  double check_log_probability(float log_probability, NodeIndex node, std::int64_t token) const;

  std::vector<Extension> choose(const Step& step);
  void extend(std::vector<Extension> best);
  void grow(const std::vector<Extension>& extensions);
  void finish(const Extension& extension);
  bool can_stop(const std::vector<Extension>& active) const;
  double coverage_penalty_of(NodeIndex node) const;
  std::vector<float> attention_of(NodeIndex node) const;
  std::vector<std::int64_t> ponder_steps_of(NodeIndex node) const;

  const SearchRules& rules_;
  std::int64_t slot_;
  SearchInput input_;
  std::int64_t n_best_;
  std::int64_t longest_;
  std::int64_t shortest_;
  CopyLimits limits_ = {};
  bool is_restarted_ = false;
  bool has_output_ = false;     // whether an output without a loop has finished
  std::vector<bool> has_loop_;  // by node, if the search avoids loops
  HypothesisTree tree_;
  std::vector<float> attention_;            // [nodes, input], if needed
  std::vector<std::int64_t> ponder_steps_;  // [nodes], if the model has adaptive computation time
  std::vector<ActiveHypothesis> active_;    // best first; their nodes have one depth
  std::vector<Hypothesis> finished_;        // best first

  // The part of this sentence in the current step.
  NodeIndex first_node_ = 0;
  std::size_t first_row_ = 0;
  std::size_t first_weight_ = 0;
  std::vector<NodeRequest> requests_;  // [new nodes]
};

}  // namespace edgewise
