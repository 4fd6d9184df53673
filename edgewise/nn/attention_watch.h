// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

#include "edgewise/graph/relation.h"

// Shapes: E = edges, H = heads.

namespace edgewise {

/// While it lives, every MultiHeadAttention that the thread which made it runs shows the weights by which it averages,
/// in the order in which they run. One a thread at a time. Not an argument of the layers: all of them would pass on
/// what only pictures want.
class AttentionWatch {
 public:
  /// Called with the edges and their weights, [E, H], before dropout.
  using See = std::function<void(const Relation& relation, const at::Tensor& weight_EH)>;

  explicit AttentionWatch(See see);
  AttentionWatch(const AttentionWatch&) = delete;
  AttentionWatch& operator=(const AttentionWatch&) = delete;
  ~AttentionWatch();

  /// The one of this thread, or none.
  static const See* current();

 private:
  See see_;
};

}  // namespace edgewise
