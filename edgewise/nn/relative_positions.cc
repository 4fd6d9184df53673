// SPDX-License-Identifier: Apache-2.0
#include "edgewise/nn/relative_positions.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/tensor.h>

#include <cmath>
#include <vector>

#include "edgewise/positions/relative_positions.h"

namespace edgewise {

RelativePositions::RelativePositions(const TransformerOptions& options, bool is_causal, RandomStream& random)
    : kind_(options.positions), max_distance_(options.t5_distance) {
  if (has_rotation()) {
    rotations_ = PositionEncodings(PositionFormula::rotation(options.size / options.heads, options.rotary));
  }
  if (kind_ == PositionKind::kAlibi) slope_H_ = at::tensor(alibi_slopes(options.heads));
  if (kind_ != PositionKind::kT5) return;
  bias_BH =
      normal_init({options.t5_buckets, options.heads}, 1.0 / std::sqrt(static_cast<double>(options.size)), random);
  bucket_D_ = at::tensor(DistanceBuckets{options.t5_buckets, max_distance_, is_causal}.table());
}

SelfPositions RelativePositions::of_nodes(std::span<const std::int64_t> positions,
                                          const at::TensorOptions& options) const {
  SelfPositions result;
  if (has_rotation()) result.rotation = rotations_.rows(positions, options);
  if (kind_ == PositionKind::kAlibi) {
    result.bias = -(Score::of_heads(slope_H_.to(options.device())) * abs(Score::distance()));
  }
  if (kind_ == PositionKind::kT5) result.bias = look_up(Score::distance(), options.device());
  return result;
}

Score RelativePositions::look_up(const Score& distance, const at::Device& device) const {
  const Score index = distance + static_cast<double>(max_distance_);
  return Score::lookup(bias_BH, Score::lookup(bucket_D_.to(device), index));
}

SelfPositions RelativePositions::between(std::span<const std::int64_t> destinations,
                                         std::span<const std::int64_t> sources, const at::Device& device) const {
  if (kind_ != PositionKind::kT5) return {};
  const auto column = [&device](std::span<const std::int64_t> positions) {
    return at::tensor(at::ArrayRef<std::int64_t>(positions.data(), positions.size())).to(device);
  };
  const Score distance = Score::of_destinations(column(destinations)) - Score::of_sources(column(sources));
  return {.rotation = {}, .bias = look_up(distance, device)};
}

at::Tensor RelativePositions::rotation_of(std::span<const std::int64_t> positions,
                                          const at::TensorOptions& options) const {
  return rotations_(positions, options);
}

at::Tensor RelativePositions::bias(const at::Tensor& distance_E) const {
  if (kind_ == PositionKind::kAlibi) {
    return distance_E.abs().unsqueeze(1) * -slope_H_.to(distance_E.device());
  }
  const at::Tensor index_E = distance_E.clamp(-max_distance_, max_distance_) + max_distance_;
  return bias_BH.index_select(0, bucket_D_.to(distance_E.device()).index_select(0, index_E));
}

}  // namespace edgewise
