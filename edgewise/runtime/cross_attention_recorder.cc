// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/cross_attention_recorder.h"

#include <numeric>

#include "edgewise/base/error.h"

namespace edgewise {

CrossAttentionRecorder::CrossAttentionRecorder(const CrossHeads& heads, const HeadLayout& layout, std::int64_t layers)
    : heads_(heads), num_heads_(layout.num_heads), stride_(layout.padded_heads) {
  check(heads.layer >= -1 && heads.layer < layers,
        "RuntimeModel: attention's layer is {}, needs a number from -1 to {}", heads.layer, layers - 1);
  check(heads.head >= -1 && heads.head < num_heads_,
        "RuntimeModel: attention's head is {}, needs a number from -1 to {}", heads.head, num_heads_ - 1);
  if (heads_.layer < 0) heads_.layer = layers - 1;
}

void CrossAttentionRecorder::begin(std::span<const kernels::SourceRange> ranges) {
  std::int64_t edges = 0;
  for (const kernels::SourceRange& range : ranges) edges += range.count;
  weights_.resize(static_cast<std::size_t>(edges * stride_));
  row_weights_.clear();
  float* next = weights_.data();
  for (const kernels::SourceRange& range : ranges) {
    row_weights_.push_back(next);
    next += range.count * stride_;
  }
}

void CrossAttentionRecorder::write(StepResult& result) const {
  const std::int64_t begin = heads_.head < 0 ? 0 : heads_.head;
  const std::int64_t end = heads_.head < 0 ? num_heads_ : begin + 1;
  result.attention.clear();
  for (std::size_t edge = 0; edge < weights_.size(); edge += static_cast<std::size_t>(stride_)) {
    const float* heads = weights_.data() + edge;
    result.attention.push_back(std::accumulate(heads + begin, heads + end, 0.0f) / static_cast<float>(end - begin));
  }
}

}  // namespace edgewise
