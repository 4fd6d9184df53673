// SPDX-License-Identifier: Apache-2.0
#include "edgewise/models/sequence_model.h"

#include <c10/core/InferenceMode.h>

#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/models/transformer.h"
#include "edgewise/models/transformer_scorer.h"
#include "edgewise/models/universal_scorer.h"
#include "edgewise/models/universal_transformer.h"

namespace edgewise {
namespace {

StepHistogram count(const std::vector<std::int64_t>& steps) {
  StepHistogram histogram;
  for (const std::int64_t taken : steps) ++histogram[taken];
  return histogram;
}

class TransformerModel : public SequenceModel {
 public:
  TransformerModel(const TransformerOptions& options, std::uint64_t seed) : model_(options, seed) {}

  const TransformerOptions& options() const override { return model_.options(); }
  std::vector<NamedTensor> parameters() const override { return edgewise::parameters(model_); }
  ModelLoss loss(const Batch& batch, const LossOptions& options, double rdrop, Pass& pass) const override {
    const ProjectedLoss found =
        rdrop > 0 ? model_.rdrop_loss(batch, rdrop, options, pass) : model_.loss(batch, options, pass);
    return {found.loss_sum, found.loss_sum, found.correct, {}, {}};
  }
  NodeSteps steps(const Batch& /*batch*/) const override {
    fail("steps: the model is a transformer, whose nodes take all its layers; a universal one is needed");
  }
  std::unique_ptr<Scorer> scorer(CrossHeads shown) const override {
    return std::make_unique<TransformerScorer>(model_, shown);
  }

 private:
  Transformer model_;
};

class UniversalModel : public SequenceModel {
 public:
  UniversalModel(const TransformerOptions& options, std::uint64_t seed) : model_(options, seed) {}

  const TransformerOptions& options() const override { return model_.options(); }
  std::vector<NamedTensor> parameters() const override { return edgewise::parameters(model_); }
  ModelLoss loss(const Batch& batch, const LossOptions& options, double rdrop, Pass& pass) const override {
    const UniversalTransformer::Loss found = model_.loss(batch, options, rdrop, pass);
    return {found.sum, found.of_words.loss_sum, found.of_words.correct, count(found.encoder_steps),
            count(found.decoder_steps)};
  }
  NodeSteps steps(const Batch& batch) const override {
    const c10::InferenceMode no_gradients;
    Pass pass = Pass::inference();
    Thought encoded = model_.encode(batch, pass);
    Thought decoded = model_.decode(batch, encoded.state_NM, pass);
    return {std::move(encoded.steps), std::move(decoded.steps)};
  }
  std::unique_ptr<Scorer> scorer(CrossHeads shown) const override {
    return std::make_unique<UniversalScorer>(model_, shown);
  }

 private:
  UniversalTransformer model_;
};

}  // namespace

std::shared_ptr<const SequenceModel> make_model(const TransformerOptions& options, std::uint64_t seed) {
  switch (options.kind) {
    case ModelKind::kTransformer:
      return std::make_shared<TransformerModel>(options, seed);
    case ModelKind::kUniversal:
      return std::make_shared<UniversalModel>(options, seed);
  }
  fail("make_model: kind is {}, needs one that enum_names lists", static_cast<int>(options.kind));
}

}  // namespace edgewise
