// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <vector>

#include "edgewise/search/search.h"

namespace edgewise {

/// Returns log p(token | input, tokens produced so far without the begin token) for each token.
using Table = std::function<std::vector<float>(const Tokens& input, const Tokens& produced)>;

/// Returns the attention weights over the input from which the next token is predicted.
using AttentionTable = std::function<std::vector<float>(const Tokens& input, const Tokens& produced)>;

/// Returns the ponder steps that a TableScorer reports after these tokens.
inline std::int64_t table_ponder_steps(const Tokens& produced) {
  return 1 + std::accumulate(produced.begin(), produced.end(), std::ssize(produced)) % 7;
}

/// A scorer that looks its results up in a table, counts calls, and checks that the search keeps the contract of
/// Scorer.
class TableScorer : public Scorer {
 public:
  TableScorer(std::int64_t vocabulary_size, Table table, AttentionTable attention = {})
      : vocabulary_size_(vocabulary_size), table_(std::move(table)), attention_(std::move(attention)) {}

  std::int64_t vocabulary_size() const override { return vocabulary_size_; }
  void encode(std::span<const std::int64_t> slots, std::span<const Tokens> inputs) override;
  void step(const StepRequest& request, StepResult& result) override;

  std::int64_t num_encode_calls = 0;
  std::int64_t last_slot = -1;
  std::vector<std::int64_t> new_nodes;  // number in each step
  std::vector<std::int64_t> roots;      // first tokens of the trees

 private:
  struct Slot {
    Tokens input;
    std::vector<Tokens> paths;  // by node
  };
  void check_order(const StepRequest& request) const;

  std::int64_t vocabulary_size_;
  Table table_;
  AttentionTable attention_;
  std::map<std::int64_t, Slot> slots_;
};

/// Returns a table of random distributions, functions of seed, input and path.
Table random_table(std::int64_t vocabulary_size, std::uint64_t seed);

/// Returns a table of random distributions whose logits are from 0 to `spread`; `bias` is added to those of a token.
Table biased_table(std::int64_t vocabulary_size, std::uint64_t seed, double spread, std::int64_t biased, double bias);

/// Returns a table with few distinct values, so that scores are often equal. The values are not normalised.
Table table_with_equals(std::int64_t vocabulary_size, std::uint64_t seed);

/// Returns random_table() with a log-probability of -inf for a third of all tokens, and for all tokens after a ninth of
/// all paths.
Table table_with_impossible(std::int64_t vocabulary_size, std::uint64_t seed);

/// Returns random weights with sum 1, some of them 0; functions of seed, input and path.
AttentionTable random_attention(std::uint64_t seed);

}  // namespace edgewise
