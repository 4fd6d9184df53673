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

/// Returns the log of the mean probability of continuation `i`; NaN if a member's is NaN.
float log_mean_probability(std::span<const StepResult> results, std::size_t i) {
  float highest = -std::numeric_limits<float>::infinity();
  for (const StepResult& result : results) {
    if (std::isnan(result.log_probabilities[i])) return result.log_probabilities[i];
    highest = std::max(highest, result.log_probabilities[i]);
  }
  if (std::isinf(highest)) return highest;
  double sum = 0;
  for (const StepResult& result : results) sum += std::exp(static_cast<double>(result.log_probabilities[i] - highest));
  return static_cast<float>(highest + std::log(sum / static_cast<double>(results.size())));
}

float mean_attention(std::span<const StepResult> results, std::size_t i) {
  double sum = 0;
  for (const StepResult& result : results) sum += result.attention[i];
  return static_cast<float>(sum / static_cast<double>(results.size()));
}

}  // namespace

EnsembleScorer::EnsembleScorer(std::vector<std::unique_ptr<Scorer>> members)
    : members_(std::move(members)), results_(members_.size()) {
  check(!members_.empty(), "EnsembleScorer: members is empty, needs at least one");
  for (std::size_t i = 1; i < members_.size(); ++i) {
    check(members_[i]->vocabulary_size() == vocabulary_size(),
          "EnsembleScorer: the vocabulary of member {} has {} tokens, needs the {} of member 0", i,
          members_[i]->vocabulary_size(), vocabulary_size());
  }
}

void EnsembleScorer::encode(std::span<const std::int64_t> slots, std::span<const Tokens> inputs) {
  for (const auto& member : members_) member->encode(slots, inputs);
}

void EnsembleScorer::step(const StepRequest& request, StepResult& result) {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    members_[i]->step({.nodes = request.nodes, .all = true, .attention = request.attention}, results_[i]);
  }
  result.log_probabilities.resize(results_.front().log_probabilities.size());
  for (std::size_t i = 0; i < result.log_probabilities.size(); ++i) {
    result.log_probabilities[i] = log_mean_probability(results_, i);
  }
  result.attention.resize(results_.front().attention.size());
  for (std::size_t i = 0; i < result.attention.size(); ++i) result.attention[i] = mean_attention(results_, i);
  pick_candidates(result.log_probabilities, request, result);
  if (!request.all) result.log_probabilities.clear();
}

}  // namespace edgewise
