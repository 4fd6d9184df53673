// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "edgewise/graph/batch.h"
#include "edgewise/models/guided_alignment.h"
#include "edgewise/nn/module.h"
#include "edgewise/ops/loss.h"
#include "edgewise/options/transformer_options.h"

namespace edgewise {

/// The ponder steps of each node of a batch.
struct NodePonderSteps {
  std::vector<std::int64_t> encoder;
  std::vector<std::int64_t> decoder;
};

/// The interface of a model of any kind, for training.
class SequenceModel {
 public:
  virtual ~SequenceModel() = default;

  virtual const TransformerOptions& options() const = 0;

  /// Lists the leaf tensors that require gradients, each once, always in the same order.
  virtual std::vector<NamedTensor> parameters() const = 0;

  /// Computes the loss of a batch. With two passes the loss is projected_consistency_loss, and `batch` holds its
  /// sentences twice. A pass with has_int8() computes with an int8_copy() of the model.
  virtual BatchLoss loss(const Batch& batch, const LossOptions& options, const AddedLosses& added,
                         Pass& pass) const = 0;

  /// Computes the loss of the halting units of exits: Transformer::halting_loss. Throws Error for a model without
  /// exits.
  virtual BatchLoss halting_loss(const Batch& batch, const LossOptions& options) const;

  /// Returns the ponder steps of each node of a batch. Throws Error for a model without adaptive computation
  /// and without exits at which nodes halt.
  virtual NodePonderSteps ponder_steps(const Batch& batch) const = 0;
};

/// Makes a model of options.kind. Its parameters are a function of options and seed. Throws Error for options that do
/// not fit together, and before allocating anything if the parameters do not fit into memory.
std::shared_ptr<const SequenceModel> make_model(const TransformerOptions& options, std::uint64_t seed);

}  // namespace edgewise
