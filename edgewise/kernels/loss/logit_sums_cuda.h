// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>

#include "edgewise/kernels/gpu/chunks.h"
#include "edgewise/kernels/gpu/device.h"
#include "edgewise/kernels/loss/softmax_loss.h"

// The parts that the kernels of losses share.
namespace edgewise::kernels::gpu {

inline constexpr float kLowestLogit = -std::numeric_limits<float>::infinity();

/// Returns the number that is subtracted before exp(), so that -infinity gives 0 even if all logits are -infinity, and
/// NaN gives NaN.
EDGEWISE_DEVICE float exponent_base(float maximum) { return maximum == kLowestLogit ? 0.0f : maximum; }

/// The largest of some logits and the sum of exp(logit - maximum). `weighted` is a sum of exp(logit - maximum) times
/// numbers.
struct ExpSums {
  float maximum = kLowestLogit;
  float sum = 0;
  float weighted = 0;

  EDGEWISE_DEVICE float weight(float logit) const { return exp_approximate(logit - exponent_base(maximum)); }

  EDGEWISE_DEVICE void raise(float new_maximum) {
    const float factor = exp_approximate(maximum - exponent_base(new_maximum));
    maximum = new_maximum;
    sum *= factor;
    weighted *= factor;
  }

  template <int kCount>
  EDGEWISE_DEVICE void raise_to(const float (&logit)[kCount]) {
    float largest = maximum;
    EDGEWISE_UNROLL
    for (int i = 0; i < kCount; ++i) largest = Maximum()(logit[i], largest);
    raise(largest);
  }
};

/// The ExpSums of each warp of a block, in shared memory.
template <int kWarps>
struct WarpExpSums {
  ExpSums of_warp[kWarps];

  /// Combines the sums of the lanes. A collective of the warp; sum_of_block() follows after a barrier.
  EDGEWISE_DEVICE void write(ExpSums sums, CallSite site = CallSite::current()) {
    sums.raise(reduce_lanes(sums.maximum, Maximum(), site));
    sums.sum = reduce_lanes(sums.sum, Sum(), site);
    sums.weighted = reduce_lanes(sums.weighted, Sum(), site);
    if (lane_index() == 0) of_warp[warp_index()] = sums;
  }

  EDGEWISE_DEVICE ExpSums sum_of_block() const {
    ExpSums total;
    float maximum = kLowestLogit;
    for (int warp = 0; warp < kWarps; ++warp) maximum = Maximum()(of_warp[warp].maximum, maximum);
    total.maximum = maximum;
    for (int warp = 0; warp < kWarps; ++warp) {
      ExpSums part = of_warp[warp];
      part.raise(maximum);
      total.sum += part.sum;
      total.weighted += part.weighted;
    }
    return total;
  }
};

/// The target distribution of a row whose label is not ignored.
struct TargetRow {
  int label;
  int ignored;  // negative: none
  float label_probability;
  float other_probability;

  EDGEWISE_DEVICE TargetRow(const SmoothedTarget& target, int row_label)
      : label(row_label),
        ignored(static_cast<int>(target.ignored_token)),
        label_probability(static_cast<float>(target.label_probability)),
        other_probability(static_cast<float>(target.other_probability)) {}

  EDGEWISE_DEVICE float probability(int column) const {
    if (column == label) return label_probability;
    return column == ignored ? 0.0f : other_probability;
  }
};

/// Compares the logits of a row with the logit of its label.
struct LabelComparison {
  float label_logit;
  float sum = 0;         // sums logit - label_logit over all tokens but the ignored one
  bool is_first = true;  // no token has a larger logit than the label, and none before the label an equal one

  EDGEWISE_DEVICE void add(float logit, int column, const TargetRow& target) {
    if (column != target.ignored) sum += logit - label_logit;
    if (logit > label_logit || (logit == label_logit && column < target.label)) is_first = false;
  }
};

/// The results of LabelComparison for each warp of a block, in shared memory.
template <int kWarps>
struct WarpComparisons {
  float sum[kWarps];
  LaneMask not_first[kWarps];

  /// Combines the results of the lanes. A collective of the warp; combine() follows after a barrier.
  EDGEWISE_DEVICE void write(const LabelComparison& lane, CallSite site = CallSite::current()) {
    const float total = reduce_lanes(lane.sum, Sum(), site);
    const LaneMask lanes = ballot(!lane.is_first, kAllLanes, site);
    if (lane_index() != 0) return;
    sum[warp_index()] = total;
    not_first[warp_index()] = lanes;
  }

  EDGEWISE_DEVICE void combine(LabelComparison& row) const {
    row.sum = 0;
    LaneMask lanes = 0;
    for (int warp = 0; warp < kWarps; ++warp) {
      row.sum += sum[warp];
      lanes |= not_first[warp];
    }
    row.is_first = lanes == 0;
  }
};

/// Returns the KL divergence of the softmax from the target.
EDGEWISE_DEVICE float compute_loss(const SmoothedTarget& target, int num_tokens, const ExpSums& sums,
                                   const LabelComparison& row) {
  const double label_log_probability = double{row.label_logit - sums.maximum} - double{log_approximate(sums.sum)};
  const double loss = target.entropy - target.label_probability * label_log_probability;
  if (target.other_probability <= 0) return static_cast<float>(loss);
  const int num_others = num_tokens - 1 - (target.ignored_token >= 0 ? 1 : 0);
  return static_cast<float>(loss - target.other_probability * (row.sum + num_others * label_log_probability));
}

}  // namespace edgewise::kernels::gpu
