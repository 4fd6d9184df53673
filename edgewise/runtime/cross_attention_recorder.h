// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/kernels/attention/node_attention.h"
#include "edgewise/runtime/weights.h"
#include "edgewise/search/scorer.h"

namespace edgewise {

/// Records the cross-attention weights of one decoder layer in a step, and writes those of a head to the step's result.
class CrossAttentionRecorder {
 public:
  /// Throws Error for a layer or head that the model does not have.
  CrossAttentionRecorder(const CrossHeads& heads, const HeadLayout& layout, std::int64_t layers);

  std::int64_t layer() const { return heads_.layer; }

  /// Allocates memory for the weights of nodes that attend to `ranges`.
  void begin(std::span<const kernels::SourceRange> ranges);

  /// Returns the addresses of each node's weights, for kernels::NodeAttention::weights.
  std::span<float* const> row_weights() const { return row_weights_; }
  std::vector<float*> weights_of(std::span<const NodeIndex> nodes) const;

  /// Replaces all weights by [edges, padded heads], for a layout without groups.
  void assign(std::span<const float> weights) {
    weights_.assign(weights.begin(), weights.end());
    counts_ = {std::ssize(weights) / stride_};
  }

  /// Writes the selected head's weights, or the mean over all heads, to `result.attention`.
  void write(StepResult& result) const;

 private:
  CrossHeads heads_;
  std::int64_t num_heads_;
  std::int64_t group_size_;
  std::int64_t stride_;
  std::vector<std::int64_t> counts_;  // [nodes], each node's edges
  std::vector<float> weights_;        // [group size, edges, padded heads] of each node, node by node
  std::vector<float*> row_weights_;   // [nodes, group size]
};

}  // namespace edgewise
