// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "edgewise/graph/batch.h"
#include "edgewise/models/sequence_model.h"

namespace edgewise {

/// Where the nodes of a side look, as one matrix a head.
struct DenseAttention {
  std::int64_t heads = 0;
  std::int64_t rows = 0;       // nodes that look
  std::int64_t columns = 0;    // nodes that are looked at
  std::vector<float> weights;  // [heads, rows, columns]; NaN where there is no edge, or the node thinks no more
};

/// One entry a layer; of a Universal Transformer, one a step.
struct ModelAttention {
  std::vector<DenseAttention> encoder;  // encoder nodes at encoder nodes
  std::vector<DenseAttention> decoder;  // decoder nodes at decoder nodes
  std::vector<DenseAttention> cross;    // decoder nodes at encoder nodes
};

/// The weights that the model uses while it reads a batch, seen as it computes with them. O(nodes²) memory: for single
/// sentences. Not for use while another AttentionWatch of the thread lives.
ModelAttention attention_of(const SequenceModel& model, const Batch& batch);

}  // namespace edgewise
