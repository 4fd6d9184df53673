// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "edgewise/train/adam.h"
#include "edgewise/train/flat_parameters.h"
#include "edgewise/train/owned_pieces.h"

namespace edgewise {

/// Adam for a model that one process trains step by step:
///
///     LocalAdam adam(parameters, {.beta1 = 0.9});
///     adam.clear_gradients();
///     loss.backward();
///     adam.step(learning_rate, tokens);
class LocalAdam {
 public:
  explicit LocalAdam(const std::vector<NamedTensor>& parameters, const AdamOptions& options = {})
      : parameters_(parameters, /*pieces=*/1),
        pieces_(parameters_, single_process()),
        adam_(parameters_, pieces_, options) {}

  void clear_gradients() { parameters_.gradients().zero_(); }
  void step(double learning_rate, double divisor) { adam_.step(learning_rate, divisor); }

 private:
  FlatParameters parameters_;
  OwnedPieces pieces_;
  Adam adam_;
};

}  // namespace edgewise
