// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

#include "edgewise/graph/relation.h"

// Shapes: E = edges, H = heads.

namespace edgewise {

/// Records attention weights: during its lifetime, every MultiHeadAttention that runs on the recorder's thread calls
/// the callback. At most one recorder per thread exists at a time. Because recorders are thread-local, layers need no
/// argument that only drawings of attention would use.
class AttentionRecorder {
 public:
  /// Takes the relation and its attention weights, [E, H], before dropout.
  using Callback = std::function<void(const Relation& relation, const at::Tensor& weight_EH)>;

  explicit AttentionRecorder(Callback callback);
  AttentionRecorder(const AttentionRecorder&) = delete;
  AttentionRecorder& operator=(const AttentionRecorder&) = delete;
  ~AttentionRecorder();

  /// Returns the callback of this thread's recorder, or null without a recorder.
  static const Callback* current();

 private:
  Callback callback_;
};

}  // namespace edgewise
