// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "edgewise/nn/attention.h"
#include "edgewise/nn/embedding.h"
#include "edgewise/options/transformer_options.h"

// Shapes: N = nodes, E = edges, H = heads, K = head size, B = buckets of distances, D = distances in a table.
namespace edgewise {

/// Relative positions of the self-attention of a stack of layers: rotary, ALiBi or T5's buckets
/// (options/layer_options.h); T5's buckets also in cross-attention. A default-constructed object, and one for another
/// kind, has neither parameters nor effect.
struct RelativePositions {
  at::Tensor bias_BH;  // T5's trained table

  RelativePositions() = default;
  /// With `is_causal`, no node attends to later ones, and all of T5's buckets are for distances to earlier ones.
  RelativePositions(const TransformerOptions& options, bool is_causal, RandomStream& random);

  bool has_rotation() const { return kind_ == PositionKind::kRotary; }
  bool has_bias() const { return has_score_bias(kind_); }

  /// Returns what self-attention reads, for nodes at `positions`; the tensors have the type and the device of
  /// `options`. The distance of two nodes is that of their numbers, so the nodes of a sentence are consecutive.
  SelfPositions of_nodes(std::span<const std::int64_t> positions, const at::TensorOptions& options) const;

  /// Returns what cross-attention reads, for destinations and sources at these positions: T5's numbers, which are added
  /// to scores, or for another kind nothing. `device` is that of the scores.
  SelfPositions between(std::span<const std::int64_t> destinations, std::span<const std::int64_t> sources,
                        const at::Device& device) const;

  /// Returns the rows of rotations: [N, K].
  at::Tensor rotation_of(std::span<const std::int64_t> positions, const at::TensorOptions& options) const;

  /// Returns what is added to scores: [E, H], for the distances [E] of edges, position of the destination minus that of
  /// the source, in int64. Requires has_bias().
  at::Tensor bias(const at::Tensor& distance_E) const;

 private:
  /// Returns T5's numbers for the distances of edges.
  Score look_up(const Score& distance, const at::Device& device) const;

  PositionKind kind_ = PositionKind::kNone;
  PositionEncodings rotations_;
  at::Tensor slope_H_;   // ALiBi, fp64
  at::Tensor bucket_D_;  // T5, the bucket of each distance from -max_distance_ on
  std::int64_t max_distance_ = 0;
};

}  // namespace edgewise
