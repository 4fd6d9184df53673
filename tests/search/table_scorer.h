// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <vector>

#include "edgewise/search/search.h"

namespace edgewise {

/// log p(each token | input, tokens produced so far), the begin token not among them.
using Table = std::function<std::vector<float>(const Tokens& input, const Tokens& produced)>;

/// Where an output looks in its input as its next token is chosen.
using AttentionTable = std::function<std::vector<float>(const Tokens& input, const Tokens& produced)>;

/// How long a TableScorer claims to think once it has produced these tokens.
inline std::int64_t table_steps(const Tokens& produced) {
  return 1 + std::accumulate(produced.begin(), produced.end(), std::ssize(produced)) % 7;
}

/// Answers from a table, counts, and holds the search to the contract of Scorer.
class TableScorer : public Scorer {
 public:
  TableScorer(std::int64_t vocabulary_size, Table table, AttentionTable attention = {})
      : vocabulary_size_(vocabulary_size), table_(std::move(table)), attention_(std::move(attention)) {}

  std::int64_t vocabulary_size() const override { return vocabulary_size_; }
  void read(std::span<const std::int64_t> places, std::span<const Tokens> inputs) override;
  void step(const StepRequest& request, StepResult& result) override;

  std::int64_t num_reads = 0;
  std::int64_t last_place = -1;
  std::vector<std::int64_t> new_nodes;  // of each step
  std::vector<std::int64_t> roots;      // first tokens of the trees

 private:
  struct Place {
    Tokens input;
    std::vector<Tokens> paths;  // of each node
  };
  void check_order(const StepRequest& request) const;

  std::int64_t vocabulary_size_;
  Table table_;
  AttentionTable attention_;
  std::map<std::int64_t, Place> places_;
};

/// Any path's distribution, drawn by a hash of seed, input and path: the same whatever was asked before.
Table random_table(std::int64_t vocabulary_size, std::uint64_t seed);

/// Of few different values, so that hypotheses are often worth the same. No distribution, but no search minds.
Table table_with_equals(std::int64_t vocabulary_size, std::uint64_t seed);

/// Weights that sum to one, drawn in the same way.
AttentionTable random_attention(std::uint64_t seed);

}  // namespace edgewise
