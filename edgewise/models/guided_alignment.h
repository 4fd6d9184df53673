// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/graph/batch.h"
#include "edgewise/nn/attention.h"
#include "edgewise/ops/loss.h"

// Shapes: E = edges, H = heads.
namespace edgewise {

/// Guided alignment (Chen et al. 2016, "Guided Alignment Training for Topic-Aware Neural Machine Translation"): the
/// weights of a cross-attention learn the links of the pairs. With a weight of 0 they do not.
struct GuidedAlignment {
  double weight = 0.0;
  std::int64_t layer = -1;  // decoder layer from 0; -1: the last
  std::int64_t head = 0;    // head from 0; -1: the mean of all heads
};

/// The losses that training adds to the cross-entropy of the labels.
struct AddedLosses {
  Consistency consistency = {};
  GuidedAlignment guided = {};
};

/// Returns the cross-entropy between the links and the weights of their edges: the sum over linked edges of -share *
/// log(weight + 1e-6), where the weight is the mean over the heads of `weight_EH`. The small number bounds the loss
/// of a link without weight, as in Marian. Differentiable; fp32 or fp64, as the weights.
at::Tensor guided_alignment_loss(const at::Tensor& weight_EH, std::span<const LinkedEdge> linked_edges);

/// Records the attention weights of the guided heads while a decoder computes a batch. At most one such object, or
/// AttentionRecorder, per thread exists at a time; the batch must outlive it.
class GuidedHeads {
 public:
  /// Throws Error for a layer that a decoder of `num_layers` layers does not have.
  GuidedHeads(const GuidedAlignment& guided, const Batch& batch, std::int64_t num_layers);

  /// Returns the weights of the selected heads, [E, H], after the decoder has computed the batch.
  const at::Tensor& weights() const { return weight_EH_; }

 private:
  void record(const Relation& relation, const AttentionRecorder::Weights& weights);

  GuidedAlignment guided_;
  const Relation* encoder_decoder_;
  std::int64_t layers_before_;  // layers of the decoder before the recorded one that have not been computed yet
  at::Tensor weight_EH_;
  AttentionRecorder recorder_;
};

}  // namespace edgewise
