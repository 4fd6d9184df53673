// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "edgewise/nn/module.h"

namespace edgewise {

struct AdamOptions {
  double beta1 = 0.9;
  double beta2 = 0.98;
  double epsilon = 1e-9;
  double weight_decay = 0.0;
};

/// How to turn the gradients that were summed into one update.
struct AdamStep {
  double learning_rate = 0.0;
  double divisor = 1.0;    // of the gradients: how many tokens they are the sum of
  double clip_norm = 0.0;  // longest gradient after the division; 0: no limit
};

/// Adam (Kingma and Ba 2015, algorithm 1) on all parameters with their gradients, in one pass over the memory of each:
/// division by the tokens and clipping (Pascanu et al. 2013) happen within it.
///
///     mean     = beta1 · mean     + (1 - beta1) · gradient
///     variance = beta2 · variance + (1 - beta2) · gradient²
///     value   -= rate · weight_decay · value, of matrices only (Loshchilov and Hutter 2019)
///     value   -= rate · mean / (1 - beta1^step) / (sqrt(variance / (1 - beta2^step)) + epsilon)
///
/// A parameter without a gradient keeps its value and moments.
class Adam {
 public:
  explicit Adam(std::vector<NamedTensor> parameters, const AdamOptions& options = {});

  /// Gives every parameter a gradient of zeros, for the next ones to be added to (ops/gradients_in_place.h). From the
  /// first step on: gradients of a tied parameter are else summed in another order in the first step after a resume.
  void clear_gradients();

  /// The norm of the divided gradients over all parameters, before clipping. If that is not finite, nothing changes,
  /// the step does not count, and num_skipped() grows.
  double step(const AdamStep& step);

  /// Counts a step that is not made.
  void skip() { ++num_skipped_; }

  std::int64_t num_steps() const { return num_steps_; }
  std::int64_t num_skipped() const { return num_skipped_; }

  /// The moments, "mean.<parameter>" and "variance.<parameter>": handles, not copies.
  std::vector<NamedTensor> moments() const;
  void set_counts(std::int64_t num_steps, std::int64_t num_skipped);

  const std::vector<NamedTensor>& parameters() const { return parameters_; }

 private:
  double gradient_norm() const;
  void update(bool are_matrices, double learning_rate, double divisor);

  std::vector<NamedTensor> parameters_;
  AdamOptions options_;
  std::vector<at::Tensor> means_;
  std::vector<at::Tensor> variances_;
  std::int64_t num_steps_ = 0;
  std::int64_t num_skipped_ = 0;
};

}  // namespace edgewise
