// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "edgewise/kernels/loss/softmax_loss.h"
#include "edgewise/ops/ponder_steps.h"

// Shapes: T = tokens, C = vocabulary (classes).
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
  // Scalar, summed over tokens, differentiable once: sums().loss plus the weighted ponder cost. With exits
  // (options/exit_options.h), the weighted mean of their losses and that of the last layer, which sums() has.
  at::Tensor objective;
  LossSums counts;                         // the sums, without loss and correct if `loss_and_correct` is defined
  at::Tensor loss_and_correct = {};        // fp64 [2], on the device that computes them
  PonderHistogram encoder_histogram = {};  // the nodes that `counts.encoder` counts
  PonderHistogram decoder_histogram = {};
  std::vector<BatchLoss> exits = {};  // the losses at exits, in their order, whose objectives cannot be differentiated

  /// Returns all sums. Waits for the device that computes them.
  LossSums sums() const;
};

struct LossOptions {
  // Probability that the tokens other than the label share evenly; 0 gives cross-entropy. In a vocabulary without other
  // tokens, the label keeps all probability.
  double smoothing = 0.0;

  // The padding token, which gets no probability and whose rows have no loss. If negative, no token is ignored.
  std::int64_t ignored = -1;
};

/// The rule by which two passes over each token must agree, and the weight of their divergence. With a weight of 0
/// there is one pass.
struct Consistency {
  kernels::ConsistencyKind kind = kernels::ConsistencyKind::kRDrop;
  double weight = 0.0;

  bool has_two_passes() const { return weight > 0; }

  /// Returns whether every row of a state has a cross-entropy: with SimCut, the rows of the second pass have none.
  bool counts_all_rows() const { return !has_two_passes() || kind == kernels::ConsistencyKind::kRDrop; }
};

/// Returns the sum over tokens of KL(target || model), a scalar. The target distribution gives the label probability
/// 1 - smoothing and shares the rest evenly among the other tokens except `ignored`. This is label smoothing (Szegedy
/// et al. 2016), except that the label gets no share of the rest. Computes a closed form, without a target tensor
/// [T, C]; keeps one tensor [T, C] for the backward pass. `labels_T` is int64, on the device of the logits. The result
/// can be differentiated once with respect to the logits.
at::Tensor smoothed_loss(const at::Tensor& logits_TC, const at::Tensor& labels_T, const LossOptions& options = {});

/// Computes smoothed_loss from one log-softmax in ATen on any device, also where there is a kernel.
at::Tensor smoothed_loss_in_aten(const at::Tensor& logits_TC, const at::Tensor& labels_T,
                                 const LossOptions& options = {});

/// Defines smoothed_loss: computes the same loss from a target tensor [T, C], in plain ATen.
at::Tensor smoothed_loss_plain(const at::Tensor& logits_TC, const at::Tensor& labels_T,
                               const LossOptions& options = {});

/// Returns the number of rows whose label has the highest logit; rows with an ignored label do not count.
std::int64_t count_correct(const at::Tensor& logits_TC, const at::Tensor& labels_T, const LossOptions& options = {});

/// Returns the rows that count_correct() counts, bool [T], on the device of the logits and the labels.
at::Tensor find_correct(const at::Tensor& logits_TC, const at::Tensor& labels_T, const LossOptions& options = {});

/// Returns the target distribution of label smoothing over a vocabulary; a label without other tokens gets
/// probability 1.
kernels::SmoothedTarget target_of(const LossOptions& options, std::int64_t vocabulary_size);

/// Throws Error unless the labels are int64, as many as `num_tokens`, all in [0, vocabulary_size), and the options fit.
/// Does not read labels that are on another device than the CPU. The message begins with `function`; `rows_name` names
/// the tensor whose rows have the labels.
void check_labels(std::string_view function, const at::Tensor& labels_T, std::string_view rows_name,
                  std::int64_t num_tokens, std::int64_t vocabulary_size, const LossOptions& options);

}  // namespace edgewise
