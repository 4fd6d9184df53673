// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/text/vocabulary/vocabulary.h"
#include "edgewise/train/observer.h"

// Warnings about trainings that cannot succeed, with the numbers that say so.

namespace edgewise {

/// Warns once if the losses of a training show that the model learns nothing: their mean is above the loss of a guess
/// among all tokens, ln(tokens), after the warm-up, or ten times as high at any time. The mean is a moving one over the
/// last 20 steps of this process.
class LossDoubt : public TrainObserver {
 public:
  /// `observer`, which must outlive this object, receives the warning. `tokens` is the size of the output vocabulary.
  LossDoubt(TrainObserver& observer, std::int64_t tokens, std::int64_t warmup);

  void on_step(const StepReport& report) override;

 private:
  TrainObserver& observer_;
  std::int64_t tokens_;
  std::int64_t warmup_;
  std::int64_t steps_ = 0;  // steps of this process with finite losses
  double mean_ = 0.0;
  bool has_warned_ = false;
};

/// Describes why a vocabulary does not fit the sentences of a side, "input" or "output": a fifth of their tokens are
/// unknown, or half of their letters are of scripts for which the vocabulary has few tokens. Usually empty.
std::vector<std::string> describe_vocabulary_doubts(std::string_view side, std::span<const std::string> sentences,
                                                    const Vocabulary& vocabulary);

}  // namespace edgewise
