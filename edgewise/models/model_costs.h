// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "edgewise/graph/batch.h"
#include "edgewise/options/train_options.h"
#include "edgewise/options/transformer_options.h"

// Computes memory from options, so that a model that does not fit is refused before it is built.

namespace edgewise {

/// Returns how many numbers the parameters of a model have; tied matrices count once. The options must be in their
/// ranges.
std::int64_t count_parameters(const TransformerOptions& options);

/// One of the processes that train a model together.
struct TrainingProcess {
  std::int64_t processes = 1;
  bool saves = true;  // whether this process writes the checkpoints
};

/// Returns a lower bound for the bytes that training needs at once in a process: parameters and gradients; the
/// process's part of both moments of Adam and of the averaged weights; in the process that saves, the copy of the whole
/// state that is being saved, without gradients; with train.quantise the rounded parameters; and the activations that
/// forward saves for backward of one batch. A side with adaptive computation counts as one step. Additive attention
/// saves a vector for each edge. The edges of self-attention with patterns do not count, here and in the functions that
/// follow.
double training_memory(const TransformerOptions& model, const TrainOptions& train, const BatchTokens& batch,
                       const TrainingProcess& process = {});

/// Returns a lower bound for the bytes that the edges of a batch need in a pass without gradients: additive attention
/// computes three vectors for each edge of a relation; other attention needs nothing for them.
double edge_memory(const TransformerOptions& model, const BatchTokens& batch);

/// Returns a lower bound for the bytes of all attention weights of one sentence pair: those that the model records, and
/// a copy for each head. A side with adaptive computation counts as one step.
double attention_map_memory(const TransformerOptions& model, const BatchTokens& pair);

/// Returns the floating-point operations of one forward and backward pass over a batch by a model with layers: 6 for
/// each token and weight of a matrix that multiplies the token's state (of the vocabulary's matrices, only the output
/// projection, once for each exit and for the last layer), and 12 for each edge, head and component of a head.
/// Recomputation in backward, norms, softmax, dropout and the optimiser do not count.
double training_flops(const TransformerOptions& options, const Batch& batch);

/// A pattern of a side's self-attention, and its cost for a document.
struct PatternCost {
  Direction direction = Direction::kCausal;  // kBoth: the encoder
  std::string terms;
  std::vector<std::int64_t> layers;  // from 0
  double edges_per_token = 0;
  double share = 0;  // multiply-adds of attention for each of the layer's weights, which multiply the token once each
};

/// Returns the cost of each pattern of a model for documents of `length` tokens, those of the encoder first; nothing
/// for a model without patterns. O(edges).
std::vector<PatternCost> pattern_costs(const TransformerOptions& options, std::int64_t length);

}  // namespace edgewise
