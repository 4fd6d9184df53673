// SPDX-License-Identifier: Apache-2.0
#include "tests/search/table_scorer.h"

#include <gtest/gtest.h>

#include <cmath>

namespace edgewise {

namespace {

std::uint64_t mix(std::uint64_t hash, std::int64_t value) {
  hash ^= static_cast<std::uint64_t>(value) + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
  hash *= 0xff51afd7ed558ccdu;
  return hash ^ (hash >> 33);
}

std::uint64_t hash_of(std::uint64_t seed, const Tokens& input, const Tokens& produced) {
  std::uint64_t hash = mix(seed, static_cast<std::int64_t>(input.size()));
  for (const std::int64_t token : input) hash = mix(hash, token);
  for (const std::int64_t token : produced) hash = mix(hash, token + 1000);
  return hash;
}

}  // namespace

void TableScorer::start(std::span<const Tokens> inputs) {
  ++num_starts;
  inputs_.assign(inputs.begin(), inputs.end());
  num_nodes_ = 0;
  for (const Tokens& input : inputs) EXPECT_FALSE(input.empty());
}

void TableScorer::step(const HypothesisTree& tree, NodeIndex first_node, std::span<float> log_probabilities) {
  ASSERT_EQ(first_node, num_nodes_) << "nodes that are not new";
  num_nodes_ = static_cast<NodeIndex>(tree.num_nodes());
  ASSERT_GT(num_nodes_, first_node) << "a step without new nodes";
  ASSERT_EQ(static_cast<std::int64_t>(log_probabilities.size()), (num_nodes_ - first_node) * vocabulary_size_);
  ASSERT_EQ(tree.num_sentences(), static_cast<std::int64_t>(inputs_.size()));
  new_nodes.push_back(num_nodes_ - first_node);
  for (NodeIndex node = first_node; node < num_nodes_; ++node) {
    Tokens path = tree.path(node);
    if (path.size() == 1) roots.push_back(path);
    path.erase(path.begin());
    const std::vector<float> row = table_(inputs_[tree.sentence(node)], path);
    ASSERT_EQ(static_cast<std::int64_t>(row.size()), vocabulary_size_);
    std::copy(row.begin(), row.end(), log_probabilities.begin() + (node - first_node) * vocabulary_size_);
  }
}

Table random_table(std::int64_t vocabulary_size, std::uint64_t seed) {
  return [=](const Tokens& input, const Tokens& produced) {
    std::uint64_t state = hash_of(seed, input, produced);
    std::vector<double> logits;
    double total = 0.0;
    for (std::int64_t token = 0; token < vocabulary_size; ++token) {
      state = mix(state, token);
      logits.push_back(4.0 * static_cast<double>(state >> 11) / 9007199254740992.0);
      total += std::exp(logits.back());
    }
    std::vector<float> log_probabilities;
    for (const double logit : logits) log_probabilities.push_back(static_cast<float>(logit - std::log(total)));
    return log_probabilities;
  };
}

Table table_with_equals(std::int64_t vocabulary_size, std::uint64_t seed) {
  return [=](const Tokens& input, const Tokens& produced) {
    std::uint64_t state = hash_of(seed, input, produced);
    std::vector<float> log_probabilities;
    for (std::int64_t token = 0; token < vocabulary_size; ++token) {
      state = mix(state, token);
      log_probabilities.push_back(-0.5f * static_cast<float>(state % 4));
    }
    return log_probabilities;
  };
}

}  // namespace edgewise
