// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "edgewise/ops/ponder_steps.h"

namespace edgewise {

/// Loss and counts as plain numbers, summed over the tokens of one or several batches. A checkpoint stores them.
struct LossSums {
  double loss = 0.0;  // without the ponder cost
  std::int64_t tokens = 0;
  std::int64_t correct = 0;  // tokens whose label has the highest logit; of equal logits the first token counts
  PonderSteps encoder = {};  // zero for a model without adaptive computation
  PonderSteps decoder = {};

  LossSums& operator+=(const LossSums& other) {
    loss += other.loss;
    tokens += other.tokens;
    correct += other.correct;
    encoder += other.encoder;
    decoder += other.decoder;
    return *this;
  }
  bool operator==(const LossSums&) const = default;
};

/// The loss of one batch, which training differentiates, and its sums, which training reports.
struct BatchLoss {
  at::Tensor objective;  // scalar, summed over tokens, differentiable once: sums().loss plus the weighted ponder cost
  LossSums counts;       // the sums, without loss and correct if `loss_and_correct` is defined
  at::Tensor loss_and_correct = {};        // fp64 [2], on the device that computes them
  PonderHistogram encoder_histogram = {};  // the nodes that `counts.encoder` counts
  PonderHistogram decoder_histogram = {};

  /// Returns all sums. Waits for the device that computes them.
  LossSums sums() const;
};

}  // namespace edgewise
