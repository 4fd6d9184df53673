// SPDX-License-Identifier: Apache-2.0
#include "edgewise/search/growth.h"

#include <algorithm>

#include "edgewise/base/error.h"

namespace edgewise {

Growth::Growth(Scorer& scorer, std::span<const Tokens> inputs)
    : scorer_(scorer), vocabulary_size_(scorer.vocabulary_size()), tree_(static_cast<std::int64_t>(inputs.size())) {
  scorer_.start(inputs);
}

NodeIndex Growth::add(std::int64_t sentence, NodeIndex parent, std::int64_t token) {
  return tree_.grow(sentence, parent, token);
}

bool Growth::step() {
  first_node_ = num_nodes_;
  num_nodes_ = static_cast<NodeIndex>(tree_.num_nodes());
  if (num_nodes_ == first_node_) return false;

  log_probabilities_.resize(static_cast<std::size_t>((num_nodes_ - first_node_) * vocabulary_size_));
  scorer_.step(tree_, first_node_, log_probabilities_);
  accept_log_probabilities();
  return true;
}

void Growth::accept_log_probabilities() {
  // The logarithm of a probability near 1 may be rounded to above 0; the bound that ends a search counts on at most 0.
  constexpr float kRounding = 1e-4f;
  for (std::size_t i = 0; i < log_probabilities_.size(); ++i) {
    float& value = log_probabilities_[i];
    if (value <= kRounding) [[likely]] {
      value = std::min(value, 0.0f);
      continue;
    }
    const auto place = static_cast<std::int64_t>(i);
    const auto node = static_cast<NodeIndex>(first_node_ + place / vocabulary_size_);
    fail("search: the scorer gave {} for token {} after {} tokens, a log-probability of at most 0 is needed", value,
         place % vocabulary_size_, length(node));
  }
}

std::span<const float> Growth::log_probabilities(NodeIndex node) const {
  return std::span(log_probabilities_)
      .subspan(static_cast<std::size_t>((node - first_node_) * vocabulary_size_),
               static_cast<std::size_t>(vocabulary_size_));
}

Tokens Growth::tokens(NodeIndex node) const {
  Tokens path = tree_.path(node);
  path.erase(path.begin());
  return path;
}

}  // namespace edgewise
