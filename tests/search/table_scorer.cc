// SPDX-License-Identifier: Apache-2.0
#include "tests/search/table_scorer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "edgewise/search/pick_candidates.h"

namespace edgewise {

namespace {

std::uint64_t mix_in(std::uint64_t hash, std::int64_t value) {
  hash ^= static_cast<std::uint64_t>(value) + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
  hash *= 0xff51afd7ed558ccdu;
  return hash ^ (hash >> 33);
}

std::uint64_t hash_of(std::uint64_t seed, const Tokens& input, const Tokens& produced) {
  std::uint64_t hash = mix_in(seed, static_cast<std::int64_t>(input.size()));
  for (const std::int64_t token : input) hash = mix_in(hash, token);
  for (const std::int64_t token : produced) hash = mix_in(hash, token + 1000);
  return hash;
}

}  // namespace

void TableScorer::encode(std::span<const std::int64_t> slots, std::span<const Tokens> inputs) {
  ++num_encode_calls;
  ASSERT_EQ(slots.size(), inputs.size());
  for (std::size_t i = 0; i < slots.size(); ++i) {
    EXPECT_FALSE(inputs[i].empty());
    slots_[slots[i]] = {inputs[i], {}};
    last_slot = std::max(last_slot, slots[i]);
  }
}

void TableScorer::step(const StepRequest& request, StepResult& result) {
  ASSERT_FALSE(request.nodes.empty()) << "a step without new nodes";
  check_order(request);
  new_nodes.push_back(std::ssize(request.nodes));
  result.log_probabilities.clear();
  result.attention.clear();
  result.ponder_steps.clear();
  for (const NewNode& node : request.nodes) {
    ASSERT_TRUE(slots_.contains(node.slot));
    Slot& slot = slots_[node.slot];
    ASSERT_LT(node.parent, std::ssize(slot.paths));
    Tokens path;
    if (node.parent == HypothesisTree::kRoot) {
      roots.push_back(node.token);
    } else {
      path = slot.paths[static_cast<std::size_t>(node.parent)];
      path.push_back(node.token);
    }
    slot.paths.push_back(path);
    result.ponder_steps.push_back(table_ponder_steps(path));
    const std::vector<float> row = table_(slot.input, path);
    ASSERT_EQ(std::ssize(row), vocabulary_size_);
    result.log_probabilities.insert(result.log_probabilities.end(), row.begin(), row.end());
    if (!request.attention) continue;
    const std::vector<float> weights = attention_(slot.input, path);
    ASSERT_EQ(weights.size(), slot.input.size());
    result.attention.insert(result.attention.end(), weights.begin(), weights.end());
  }
  pick_candidates(result.log_probabilities, request, result);
  if (!request.all) result.log_probabilities.clear();
}

void TableScorer::check_order(const StepRequest& request) const {
  const auto is_before = [](const Continuation& a, const Continuation& b) {
    return a.row != b.row ? a.row < b.row : a.token < b.token;
  };
  for (const auto& list : {request.excluded, request.wanted}) {
    EXPECT_TRUE(std::is_sorted(list.begin(), list.end(), is_before));
    for (const Continuation& continuation : list) {
      EXPECT_LT(continuation.row, std::ssize(request.nodes));
      EXPECT_LT(continuation.token, vocabulary_size_);
    }
  }
  EXPECT_TRUE(std::ranges::is_sorted(request.nodes, {}, &NewNode::slot));
}

Table biased_table(std::int64_t vocabulary_size, std::uint64_t seed, double spread, std::int64_t biased, double bias) {
  return [=](const Tokens& input, const Tokens& produced) {
    std::uint64_t state = hash_of(seed, input, produced);
    std::vector<double> logits;
    double total = 0.0;
    for (std::int64_t token = 0; token < vocabulary_size; ++token) {
      state = mix_in(state, token);
      logits.push_back(spread * static_cast<double>(state >> 11) / 9007199254740992.0 + (token == biased ? bias : 0.0));
      total += std::exp(logits.back());
    }
    std::vector<float> log_probabilities;
    for (const double logit : logits) log_probabilities.push_back(static_cast<float>(logit - std::log(total)));
    return log_probabilities;
  };
}

Table random_table(std::int64_t vocabulary_size, std::uint64_t seed) {
  return biased_table(vocabulary_size, seed, 4.0, -1, 0.0);
}

Table table_with_equals(std::int64_t vocabulary_size, std::uint64_t seed) {
  return [=](const Tokens& input, const Tokens& produced) {
    std::uint64_t state = hash_of(seed, input, produced);
    std::vector<float> log_probabilities;
    for (std::int64_t token = 0; token < vocabulary_size; ++token) {
      state = mix_in(state, token);
      log_probabilities.push_back(-0.5f * static_cast<float>(state % 4));
    }
    return log_probabilities;
  };
}

Table table_with_impossible(std::int64_t vocabulary_size, std::uint64_t seed) {
  return [=, possible = random_table(vocabulary_size, seed)](const Tokens& input, const Tokens& produced) {
    std::uint64_t state = hash_of(seed + 1, input, produced);
    const bool is_end = state % 9 == 0;
    std::vector<float> log_probabilities = possible(input, produced);
    for (float& log_probability : log_probabilities) {
      state = mix_in(state, 1);
      if (is_end || state % 3 == 0) log_probability = -std::numeric_limits<float>::infinity();
    }
    return log_probabilities;
  };
}

AttentionTable random_attention(std::uint64_t seed) {
  return [=](const Tokens& input, const Tokens& produced) {
    std::uint64_t state = hash_of(seed, input, produced);
    std::vector<float> weights;
    float sum = 0;
    for (std::size_t i = 0; i < input.size(); ++i) {
      state = mix_in(state, static_cast<std::int64_t>(i));
      weights.push_back(i > 0 && state % 5 == 0 ? 0.0f : 0.01f + static_cast<float>(state % 100));
      sum += weights.back();
    }
    for (float& weight : weights) weight /= sum;
    return weights;
  };
}

}  // namespace edgewise
