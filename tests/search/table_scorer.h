// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "edgewise/search/search.h"

namespace edgewise {

/// log p(each token | input, tokens produced so far), the begin token not among them.
using Table = std::function<std::vector<float>(const Tokens& input, const Tokens& produced)>;

/// Answers from a table, counts, and holds the search to the contract of Scorer::step.
class TableScorer : public Scorer {
 public:
  TableScorer(std::int64_t vocabulary_size, Table table)
      : vocabulary_size_(vocabulary_size), table_(std::move(table)) {}

  std::int64_t vocabulary_size() const override { return vocabulary_size_; }
  void start(std::span<const Tokens> inputs) override;
  void step(const HypothesisTree& tree, NodeIndex first_node, std::span<float> log_probabilities) override;

  std::int64_t num_starts = 0;
  std::vector<std::int64_t> new_nodes;  // of each step
  std::vector<Tokens> roots;            // first tokens of the trees

 private:
  std::int64_t vocabulary_size_;
  Table table_;
  std::vector<Tokens> inputs_;
  NodeIndex num_nodes_ = 0;
};

/// Any path's distribution, drawn by a hash of seed, input and path: the same whatever was asked before.
Table random_table(std::int64_t vocabulary_size, std::uint64_t seed);

/// Of few different values, so that hypotheses are often worth the same. No distribution, but no search minds.
Table table_with_equals(std::int64_t vocabulary_size, std::uint64_t seed);

}  // namespace edgewise
