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

/// The arguments of one update from accumulated gradients.
struct AdamStep {
  double learning_rate = 0.0;
  double divisor = 1.0;    // tokens whose gradients were summed
  double clip_norm = 0.0;  // largest norm of the divided gradients; 0: no limit

  /// Returns the number, at least 1, by which clipping divides mean gradients of this norm.
  double clip_divisor(double norm) const { return clip_norm > 0.0 && norm > clip_norm ? norm / clip_norm : 1.0; }
};

/// The Adam optimiser (Kingma and Ba 2015, algorithm 1). One pass over the memory of each parameter divides the
/// gradient by the tokens, clips it (Pascanu et al. 2013) and updates the parameter.
///
///     mean     = beta1 · mean     + (1 - beta1) · gradient
///     variance = beta2 · variance + (1 - beta2) · gradient²
///     value   -= rate · weight_decay · value, for matrices only (Loshchilov and Hutter 2019)
///     value   -= rate · mean / (1 - beta1^step) / (sqrt(variance / (1 - beta2^step)) + epsilon)
///
/// A parameter without a gradient keeps its value and moments.
class Adam {
 public:
  explicit Adam(std::vector<NamedTensor> parameters, const AdamOptions& options = {});

  /// Sets every gradient to zeros, to which backward adds (ops/gradients_in_place.h). The first step needs zeros too:
  /// without them, the first step after a resume would sum the gradients of a tied parameter in another order.
  void clear_gradients();

  /// Updates the parameters; returns the norm of the divided gradients over all parameters, before clipping. If the
  /// norm is not finite, parameters and num_steps() stay, and num_skipped() grows. Otherwise, the tensors of the
  /// gradients hold the used values afterwards: divided by step.divisor and step.clip_divisor(norm).
  double step(const AdamStep& step);

  /// Counts a step without an update.
  void skip() { ++num_skipped_; }

  std::int64_t num_steps() const { return num_steps_; }
  std::int64_t num_skipped() const { return num_skipped_; }

  /// Returns handles to the moments, named "mean.<parameter>" and "variance.<parameter>".
  std::vector<NamedTensor> moments() const;
  /// Restores num_steps() and num_skipped() after a resume.
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
