// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/graph/hypothesis_tree.h"

namespace edgewise {

using Tokens = std::vector<std::int64_t>;

/// A token to compute: a new node of the hypothesis tree of the sentence at `place`. A tree's nodes are numbered from 0
/// in the order in which steps bring them; a parent may be of the same step, before its child.
struct NewNode {
  std::int64_t place;
  NodeIndex parent;  // HypothesisTree::kRoot for a first token
  std::int64_t token;
};

/// A token as a continuation of one new node, by the node's index in the step.
struct Continuation {
  std::int64_t row;
  std::int64_t token;
};

/// What a search wants to know of the new nodes. Lists of continuations ascend by row, then by token.
struct StepRequest {
  std::span<const NewNode> nodes = {};
  std::int64_t num_candidates = 0;              // the most likely continuations of each node
  std::span<const std::uint8_t> allowed = {};   // [vocabulary]: which tokens may be candidates; empty: all
  std::span<const Continuation> excluded = {};  // no candidates of their rows, beside those
  std::span<const Continuation> wanted = {};    // their log-probabilities are wanted, candidates or not
  bool all = false;                             // the log-probability of every continuation
  bool attention = false;                       // where the nodes look in the input
};

struct Candidate {
  std::int32_t token;  // -1: there are no more
  float log_probability;
};

/// log p(next token | path to the node): the distribution is over the whole vocabulary, whatever may be a candidate.
/// What was not asked for is empty.
struct StepResult {
  std::vector<Candidate> candidates;     // [rows, num_candidates], best first; the lower token first among equals
  std::vector<float> wanted;             // one of each continuation that was wanted
  std::vector<float> log_probabilities;  // [rows, vocabulary], if all
  std::vector<float> attention;          // if wanted: row by row, a weight for each token of its sentence's input
  std::vector<std::int64_t> steps;       // of a model that thinks until it is done: [rows], how many steps each took
};

/// What a search needs of a model. Sentences lie in places, and one may be replaced at any time, so that no step waits
/// for the longest sentence of a batch.
class Scorer {
 public:
  virtual ~Scorer() = default;

  virtual std::int64_t vocabulary_size() const = 0;

  /// Reads inputs, none of them empty, each into its place; what was there is forgotten. Places are counted from 0, and
  /// room is made for them as they come.
  virtual void read(std::span<const std::int64_t> places, std::span<const Tokens> inputs) = 0;

  /// Computes the new nodes, and only those: older ones keep the keys and values of their time.
  virtual void step(const StepRequest& request, StepResult& result) = 0;
};

}  // namespace edgewise
