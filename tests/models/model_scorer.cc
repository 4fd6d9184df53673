// SPDX-License-Identifier: Apache-2.0
#include "tests/models/model_scorer.h"

#include "tests/models/transformer_scorer.h"
#include "tests/models/universal_scorer.h"

namespace edgewise {
namespace {

template <class Model, class ModelScorer>
class SharedModelScorer : public Scorer {
 public:
  SharedModelScorer(const SequenceModel& model, CrossHeads recorded)
      : model_(model.options(), /*seed=*/0), scorer_(model_, recorded) {
    const std::vector<NamedTensor> own = parameters(model_);
    const std::vector<NamedTensor> shared = model.parameters();
    for (std::size_t i = 0; i < own.size(); ++i) own.at(i).tensor.set_data(shared.at(i).tensor);
  }

  std::int64_t vocabulary_size() const override { return scorer_.vocabulary_size(); }
  void encode(std::span<const std::int64_t> slots, std::span<const Tokens> inputs) override {
    scorer_.encode(slots, inputs);
  }
  void step(const StepRequest& request, StepResult& result) override { scorer_.step(request, result); }

 private:
  Model model_;
  ModelScorer scorer_;
};

}  // namespace

std::unique_ptr<Scorer> make_scorer(const SequenceModel& model, CrossHeads recorded) {
  if (model.options().kind == ModelKind::kUniversal) {
    return std::make_unique<SharedModelScorer<UniversalTransformer, UniversalScorer>>(model, recorded);
  }
  return std::make_unique<SharedModelScorer<Transformer, TransformerScorer>>(model, recorded);
}

}  // namespace edgewise
