// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "edgewise/ops/optimiser.h"
#include "edgewise/train/flat_parameters.h"

namespace edgewise {

struct AdamOptions {
  double beta1 = 0.9;
  double beta2 = 0.98;
  double epsilon = 1e-9;
  double weight_decay = 0.0;
};

/// The Adam optimiser (Kingma and Ba 2015, algorithm 1) of the pieces that a process owns. One pass over memory divides
/// the gradients and updates the values.
///
///     mean     = beta1 · mean     + (1 - beta1) · gradient
///     variance = beta2 · variance + (1 - beta2) · gradient²
///     value   -= rate · weight_decay · value, for matrices only (Loshchilov and Hutter 2019)
///     value   -= rate · mean / (1 - beta1^step) / (sqrt(variance / (1 - beta2^step)) + epsilon)
class Adam {
 public:
  /// Parameters and pieces must outlive the optimiser.
  Adam(const FlatParameters& parameters, const OwnedPieces& pieces, const AdamOptions& options = {});

  /// Updates the owned values by their gradients divided by `divisor`: the tokens whose gradients were summed, times
  /// clip_divisor. Afterwards, the gradients are the divided ones.
  void step(double learning_rate, double divisor);

  /// As above, with numbers on the device of the parameters; the host learns only later whether they are
  /// finite: `divisor` is fp32, and `is_skipped` is bool. A step that is skipped changes no value and counts as an
  /// update, until the caller calls undo_skipped_step().
  void step(double learning_rate, const at::Tensor& divisor, const at::Tensor& is_skipped);

  /// Counts the last step, which was skipped, as skipped instead of as an update.
  void undo_skipped_step();

  std::int64_t num_steps() const { return num_steps_; }
  std::int64_t num_skipped() const { return num_skipped_; }

  /// Restores num_steps() and num_skipped() after a resume.
  void set_counts(std::int64_t num_steps, std::int64_t num_skipped);

  /// Returns handles to the owned arrays of the moments.
  const at::Tensor& means() const { return means_; }
  const at::Tensor& variances() const { return variances_; }

 private:
  /// Owned elements of consecutive parameters that are all matrices, or all others.
  struct Segment {
    bool is_matrix;
    std::int64_t begin;  // in an owned array
    AdamArrays arrays;
  };

  /// Owned elements that are consecutive in the flat arrays, which one call of the kernel for GPUs updates.
  struct KernelPart {
    AdamArrays arrays;
    at::Tensor is_matrix;
  };

  AdamArrays take_arrays(const FlatRange& range, std::int64_t begin) const;
  void add_segments();
  void add_kernel_parts();
  void update_by_kernel(double learning_rate, const at::Tensor& divisor);
  void update(bool are_matrices, double learning_rate, const at::Tensor& divisor, const at::Tensor& found_inf);

  const FlatParameters& parameters_;
  const OwnedPieces& pieces_;
  AdamOptions options_;
  at::Tensor means_;
  at::Tensor variances_;
  std::vector<Segment> segments_;
  std::vector<KernelPart> kernel_parts_;  // empty if ATen updates the segments
  std::int64_t num_steps_ = 0;
  std::int64_t num_skipped_ = 0;
};

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
