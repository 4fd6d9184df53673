// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "edgewise/base/stop_request.h"
#include "edgewise/graph/batch.h"
#include "edgewise/models/sequence_model.h"

namespace edgewise {

/// The attention weights of one layer: a matrix for each head.
struct DenseAttention {
  std::int64_t heads = 0;
  std::int64_t rows = 0;       // destinations
  std::int64_t columns = 0;    // sources
  std::vector<float> weights;  // [heads, rows, columns]; NaN without an edge, and in the rows of halted nodes
};

/// The attention weights of a model: one entry for each layer or, in a Universal Transformer, each ponder step. A
/// language model has those of the decoder alone.
struct ModelAttention {
  std::vector<DenseAttention> encoder;  // self-attention of the encoder
  std::vector<DenseAttention> decoder;  // self-attention of the decoder; empty with an SSRU
  std::vector<DenseAttention> cross;    // from encoder nodes to decoder nodes
};

/// Records the attention weights that the model computes for a batch. The O(nodes²) memory suits single sentences. No
/// other AttentionRecorder of the thread may exist. Throws StopException if `stop` is set, which is read in each layer.
ModelAttention record_attention(const SequenceModel& model, const Batch& batch, const StopRequest* stop = nullptr);

}  // namespace edgewise
