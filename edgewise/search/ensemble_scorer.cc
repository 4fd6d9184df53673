// SPDX-License-Identifier: Apache-2.0
#include "edgewise/search/ensemble_scorer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/search/pick_candidates.h"

namespace edgewise {

namespace {

/// log of the mean of exp, of number `i` of each list.
float mean_of_probabilities(std::span<const StepResult> answers, std::size_t i) {
  float most = -std::numeric_limits<float>::infinity();
  for (const StepResult& answer : answers) most = std::max(most, answer.log_probabilities[i]);
  if (std::isinf(most)) return most;
  double sum = 0;
  for (const StepResult& answer : answers) sum += std::exp(static_cast<double>(answer.log_probabilities[i] - most));
  return static_cast<float>(most + std::log(sum / static_cast<double>(answers.size())));
}

float mean_of_attention(std::span<const StepResult> answers, std::size_t i) {
  double sum = 0;
  for (const StepResult& answer : answers) sum += answer.attention[i];
  return static_cast<float>(sum / static_cast<double>(answers.size()));
}

}  // namespace

EnsembleScorer::EnsembleScorer(std::vector<std::unique_ptr<Scorer>> members)
    : members_(std::move(members)), answers_(members_.size()) {
  check(!members_.empty(), "EnsembleScorer: members is empty, needs at least one");
  for (std::size_t i = 1; i < members_.size(); ++i) {
    check(members_[i]->vocabulary_size() == vocabulary_size(),
          "EnsembleScorer: the vocabulary of member {} has {} tokens, that of member 0 has {}; they must be equal", i,
          members_[i]->vocabulary_size(), vocabulary_size());
  }
}

void EnsembleScorer::read(std::span<const std::int64_t> places, std::span<const Tokens> inputs) {
  for (const auto& member : members_) member->read(places, inputs);
}

void EnsembleScorer::step(const StepRequest& request, StepResult& result) {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    members_[i]->step({.nodes = request.nodes, .all = true, .attention = request.attention}, answers_[i]);
  }
  result.log_probabilities.resize(answers_.front().log_probabilities.size());
  for (std::size_t i = 0; i < result.log_probabilities.size(); ++i) {
    result.log_probabilities[i] = mean_of_probabilities(answers_, i);
  }
  result.attention.resize(answers_.front().attention.size());
  for (std::size_t i = 0; i < result.attention.size(); ++i) result.attention[i] = mean_of_attention(answers_, i);
  pick_candidates(result.log_probabilities, request, result);
  if (!request.all) result.log_probabilities.clear();
}

}  // namespace edgewise
