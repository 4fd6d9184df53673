// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "edgewise/graph/hypothesis_tree.h"
#include "edgewise/search/options.h"

namespace edgewise {

// The interface between search and model. A search adds tokens to the trees of its hypotheses, one tree per input; a
// scorer returns the log-probabilities of the tokens that may come next.
//
// - Shapes: results have one row per new node, row after row. Log-probabilities are natural logarithms in single
//   precision, at most 0, and normalised over the whole vocabulary; -inf is one.
// - Guarantee: a scorer knows no rules of searches; it leaves out the candidates that a request forbids, no others.
// - Threads: one at a time may use a scorer. Several may call a factory and use its scorers at the same time.
// - Cost: a step computes the new nodes only, because the keys and values of earlier nodes are cached. Each new node
//   attends to the tokens before it and to its input.
// - Errors: those of the model. A scorer that threw an exception must not be used again.

using Tokens = std::vector<std::int64_t>;

/// A new node of the hypothesis tree of the sentence in a slot. The nodes of a tree are numbered from 0 in the order in
/// which steps add them; a step may add a parent and, after it, its child.
struct NewNode {
  std::int64_t slot;
  NodeIndex parent;  // HypothesisTree::kRoot for the first token
  std::int64_t token;
};

/// A token that may follow new node number `row` of the step.
struct Continuation {
  std::int64_t row;
  std::int64_t token;
};

/// The new nodes of a step and the results that the search needs for them. Lists of continuations ascend by row, then
/// by token.
struct StepRequest {
  std::span<const NewNode> nodes = {};
  std::int64_t num_candidates = 0;              // most likely continuations to return for each node
  std::span<const std::uint8_t> allowed = {};   // [vocabulary]: 1 for tokens that may be candidates; empty: all tokens
  std::span<const Continuation> excluded = {};  // continuations that must not be candidates
  std::span<const Continuation> wanted = {};    // continuations whose log-probabilities are returned in any case
  bool all = false;                             // whether to return the log-probability of every continuation
  bool attention = false;                       // whether to return cross-attention weights
};

/// One of the most likely continuations of a row.
struct Candidate {
  std::int32_t token;  // -1 in places after the row's last candidate, if the row has fewer than num_candidates
  float log_probability;
};

/// The results of a step, in rows: one row per new node. Log-probabilities are log p(next token | tokens up to the
/// node), normalised over the whole vocabulary, or over the tokens that a shortlist selects for the input: other tokens
/// have -inf, and are no candidates. Vectors that were not requested are empty.
struct StepResult {
  std::vector<Candidate> candidates;       // [rows, num_candidates], best first; among equals the lower token first
  std::vector<float> wanted;               // a log-probability for each wanted continuation
  std::vector<float> log_probabilities;    // [rows, vocabulary], if StepRequest::all
  std::vector<float> attention;            // if requested: one row after another, a weight for each token of its input
  std::vector<std::int64_t> ponder_steps;  // [rows], or decoder layers at exits; from models whose tokens halt
};

/// Encodes inputs and scores continuations. Each sentence of a decoding batch has a slot. A slot may be reused at any
/// time, so that no step waits for the longest sentence of a batch.
///
/// A language model has no inputs apart from its texts. The input of a slot is the beginning of a text, which may be
/// empty: its tokens are the nodes 0, 1, … of the slot's tree, each the parent of the next. They are computed in
/// blocks, and give later nodes the same bits as tokens that steps add one by one.
class Scorer {
 public:
  virtual ~Scorer() = default;

  virtual std::int64_t vocabulary_size() const = 0;

  /// Encodes `inputs`, none of them empty but those of language models: input i for slot slots[i], whose earlier input
  /// and nodes are discarded. Slots are numbered from 0; their number grows as needed.
  virtual void encode(std::span<const std::int64_t> slots, std::span<const Tokens> inputs) = 0;

  /// Adds the new nodes to their trees and scores their continuations.
  virtual void step(const StepRequest& request, StepResult& result) = 0;
};

/// Makes scorers that share a model.
using ScorerFactory = std::function<std::unique_ptr<Scorer>()>;

}  // namespace edgewise
