// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "edgewise/search/scorer.h"

namespace edgewise {

/// Combines several models of one vocabulary: probabilities and attention weights are means over the members.
class EnsembleScorer : public Scorer {
 public:
  /// Throws Error if there are no members or the sizes of their vocabularies differ.
  explicit EnsembleScorer(std::vector<std::unique_ptr<Scorer>> members);

  std::int64_t vocabulary_size() const override { return members_.front()->vocabulary_size(); }
  void encode(std::span<const std::int64_t> slots, std::span<const Tokens> inputs) override;
  void step(const StepRequest& request, StepResult& result) override;

 private:
  std::vector<std::unique_ptr<Scorer>> members_;
  std::vector<StepResult> results_;  // [members]
};

}  // namespace edgewise
