// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "edgewise/search/scorer.h"

namespace edgewise {

/// Several models of one vocabulary as one: the probability of a token is the mean of theirs, and so is attention.
class EnsembleScorer : public Scorer {
 public:
  /// Throws Error for none, and for vocabularies of different sizes.
  explicit EnsembleScorer(std::vector<std::unique_ptr<Scorer>> members);

  std::int64_t vocabulary_size() const override { return members_.front()->vocabulary_size(); }
  void read(std::span<const std::int64_t> places, std::span<const Tokens> inputs) override;
  void step(const StepRequest& request, StepResult& result) override;

 private:
  std::vector<std::unique_ptr<Scorer>> members_;
  std::vector<StepResult> answers_;  // of each
};

}  // namespace edgewise
