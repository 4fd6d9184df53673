// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/cross_attention_recorder.h"

#include <numeric>

#include "edgewise/base/error.h"

namespace edgewise {

CrossAttentionRecorder::CrossAttentionRecorder(const CrossHeads& heads, const HeadLayout& layout, std::int64_t layers)
    : heads_(heads), num_heads_(layout.num_heads), group_size_(layout.group_size), stride_(layout.padded_heads) {
  check(heads.layer >= -1 && heads.layer < layers,
        "RuntimeModel: attention's layer is {}, needs a number from -1 to {}", heads.layer, layers - 1);
  check(heads.head >= -1 && heads.head < num_heads_,
        "RuntimeModel: attention's head is {}, needs a number from -1 to {}", heads.head, num_heads_ - 1);
  if (heads_.layer < 0) heads_.layer = layers - 1;
}

void CrossAttentionRecorder::begin(std::span<const kernels::SourceRange> ranges) {
  counts_.clear();
  for (const kernels::SourceRange& range : ranges) counts_.push_back(range.count);
  const std::int64_t edges = std::accumulate(counts_.begin(), counts_.end(), std::int64_t{0});
  weights_.resize(static_cast<std::size_t>(edges * group_size_ * stride_));
  row_weights_.clear();
  float* next = weights_.data();
  for (const std::int64_t count : counts_) {
    for (std::int64_t i = 0; i < group_size_; ++i) {
      row_weights_.push_back(next);
      next += count * stride_;
    }
  }
}

std::vector<float*> CrossAttentionRecorder::weights_of(std::span<const NodeIndex> nodes) const {
  std::vector<float*> weights;
  for (const NodeIndex node : nodes) {
    const auto rows = std::span(row_weights_).subspan(static_cast<std::size_t>(node * group_size_), group_size_);
    weights.insert(weights.end(), rows.begin(), rows.end());
  }
  return weights;
}

void CrossAttentionRecorder::write(StepResult& result) const {
  const std::int64_t begin = heads_.head < 0 ? 0 : heads_.head;
  const std::int64_t end = heads_.head < 0 ? num_heads_ : begin + 1;
  result.attention.clear();
  const float* weights = weights_.data();
  for (const std::int64_t count : counts_) {
    for (std::int64_t edge = 0; edge < count; ++edge) {
      float sum = 0.0f;
      for (std::int64_t head = begin; head < end; ++head) {
        sum += weights[(head % group_size_ * count + edge) * stride_ + head / group_size_];
      }
      result.attention.push_back(sum / static_cast<float>(end - begin));
    }
    weights += group_size_ * count * stride_;
  }
}

}  // namespace edgewise
