// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "edgewise/graph/batch.h"
#include "edgewise/nn/module.h"
#include "edgewise/nn/step_count.h"
#include "edgewise/ops/loss.h"
#include "edgewise/options/transformer_options.h"
#include "edgewise/search/cross_heads.h"
#include "edgewise/search/scorer.h"

namespace edgewise {

struct ModelLoss {
  at::Tensor sum;            // what training lessens: scalar, over all labels, differentiable once
  at::Tensor reported_sum;   // the same without the cost of thinking
  std::int64_t correct = 0;  // labels that are the most likely word
  StepHistogram encoder;     // of a model whose nodes decide how many steps they take
  StepHistogram decoder;
};

struct NodeSteps {
  std::vector<std::int64_t> encoder;
  std::vector<std::int64_t> decoder;
};

/// What training and translating need of a model, whichever kind it is.
class SequenceModel {
 public:
  virtual ~SequenceModel() = default;

  virtual const TransformerOptions& options() const = 0;

  /// Leaves that require gradients, each once, always in the same order.
  virtual std::vector<NamedTensor> parameters() const = 0;

  /// With `rdrop` above 0 that of projected_rdrop_loss, of a batch that has its sentences twice.
  virtual ModelLoss loss(const Batch& batch, const LossOptions& options, double rdrop, Pass& pass) const = 0;

  /// How many steps each node of a batch thinks. Throws Error for a model whose nodes do not decide that.
  virtual NodeSteps steps(const Batch& batch) const = 0;

  /// Decodes with the model, which must outlive it.
  virtual std::unique_ptr<Scorer> scorer(CrossHeads shown = {}) const = 0;
};

/// A model of the kind that the options name; its parameters are a function of options and seed.
std::shared_ptr<const SequenceModel> make_model(const TransformerOptions& options, std::uint64_t seed);

}  // namespace edgewise
