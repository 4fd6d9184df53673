// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "edgewise/runtime/weights.h"
#include "edgewise/kernels/attention/node_attention.h"
#include "edgewise/search/cross_heads.h"
#include "edgewise/search/scorer.h"

namespace edgewise {

/// Where a step's rows look in the input: written by attention, shown to a search.
class ShownAttention {
 public:
  /// Throws Error for heads that the model does not have.
  ShownAttention(const CrossHeads& heads, const HeadLayout& layout, std::int64_t layers);

  std::int64_t layer() const { return heads_.layer; }

  /// Room for rows with these sources.
  void begin(std::span<const kernels::SourceRange> ranges);

  /// Where each row's weights go, for kernels::NodeAttention.
  std::span<float* const> of_rows() const { return of_rows_; }

  void write(StepResult& result) const;

 private:
  CrossHeads heads_;
  std::int64_t num_heads_;
  std::int64_t stride_;
  std::vector<float> weights_;  // [edges, padded heads]
  std::vector<float*> of_rows_;
};

}  // namespace edgewise
