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

  /// Allocates memory for the weights of rows that attend to `ranges`.
  void begin(std::span<const kernels::SourceRange> ranges);

  /// Returns the addresses for each row's weights, for kernels::NodeAttention::weights.
  std::span<float* const> row_weights() const { return row_weights_; }

  /// Replaces all weights by [edges, padded heads].
  void assign(std::span<const float> weights) { weights_.assign(weights.begin(), weights.end()); }

  /// Writes the selected head's weights, or the mean over all heads, to `result.attention`.
  void write(StepResult& result) const;

 private:
  CrossHeads heads_;
  std::int64_t num_heads_;
  std::int64_t stride_;
  std::vector<float> weights_;  // [edges, padded heads]
  std::vector<float*> row_weights_;
};

}  // namespace edgewise
