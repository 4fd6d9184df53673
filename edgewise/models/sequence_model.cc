// SPDX-License-Identifier: Apache-2.0
#include "edgewise/models/sequence_model.h"

#include <c10/core/InferenceMode.h>

#include <type_traits>
#include <utility>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/base/memory.h"
#include "edgewise/models/language_model.h"
#include "edgewise/models/model_costs.h"
#include "edgewise/models/transformer.h"
#include "edgewise/models/universal_transformer.h"
#include "edgewise/nn/int8_copy.h"

namespace edgewise {
namespace {

/// Implements SequenceModel, except for ponder_steps, by the members of `Model`.
template <class Model>
class ModelAdapter : public SequenceModel {
 public:
  ModelAdapter(const TransformerOptions& options, std::uint64_t seed) : model_(options, seed) {}

  const TransformerOptions& options() const override { return model_.options(); }
  std::vector<NamedTensor> parameters() const override { return edgewise::parameters(model_); }
  BatchLoss loss(const Batch& batch, const LossOptions& options, const AddedLosses& added, Pass& pass) const override {
    if (pass.has_int8()) return int8_copy(model_).loss(batch, options, added, pass);
    return model_.loss(batch, options, added, pass);
  }

 protected:
  Model model_;
};

/// A model whose nodes pass through all layers, unless they halt at exits.
template <class Model>
class LayeredModel : public ModelAdapter<Model> {
 public:
  using ModelAdapter<Model>::ModelAdapter;
  NodePonderSteps ponder_steps(const Batch& batch) const override {
    check(
        this->options().exits.can_halt(),
        "steps: the model is a {}, whose nodes take all its layers, needs a universal one, or exits whose threshold is "
        "below 1",
        enum_name(this->options().kind));
    if constexpr (std::is_same_v<Model, Transformer>) {
      const c10::InferenceMode no_gradients;
      Pass pass = Pass::inference();
      const at::Tensor encoded_SM = this->model_.encode(batch, pass);
      std::vector<std::int64_t> encoder_steps(batch.input_tokens.size(), this->options().encoder_layers);
      return {std::move(encoder_steps), this->model_.decode_with_exits(batch, encoded_SM, pass).layers};
    }
    return {};
  }
};

/// A Transformer whose exits have halting units.
class ModelWithExits : public LayeredModel<Transformer> {
 public:
  using LayeredModel::LayeredModel;
  BatchLoss halting_loss(const Batch& batch, const LossOptions& options) const override {
    return model_.halting_loss(batch, options);
  }
};

class UniversalModel : public ModelAdapter<UniversalTransformer> {
 public:
  using ModelAdapter::ModelAdapter;
  NodePonderSteps ponder_steps(const Batch& batch) const override {
    const c10::InferenceMode no_gradients;
    Pass pass = Pass::inference();
    AdaptiveResult encoded = model_.encode(batch, pass);
    AdaptiveResult decoded = model_.decode(batch, encoded.state_NM, pass);
    return {std::move(encoded.steps), std::move(decoded.steps)};
  }
};

}  // namespace

BatchLoss SequenceModel::halting_loss(const Batch& /*batch*/, const LossOptions& /*options*/) const {
  fail("halting_loss: the model is a {} without exits, needs a decoder with exits", enum_name(options().kind));
}

std::shared_ptr<const SequenceModel> make_model(const TransformerOptions& options, std::uint64_t seed) {
  const std::int64_t numbers = count_parameters(check_options(options));
  require_memory(4.0 * static_cast<double>(numbers), fmt::format("make_model: a model with {} parameters", numbers),
                 "choose a smaller model");
  switch (options.kind) {
    case ModelKind::kTransformer:
      if (options.exits.are_on()) return std::make_shared<ModelWithExits>(options, seed);
      return std::make_shared<LayeredModel<Transformer>>(options, seed);
    case ModelKind::kUniversal:
      return std::make_shared<UniversalModel>(options, seed);
    case ModelKind::kLanguageModel:
      return std::make_shared<LayeredModel<LanguageModel>>(options, seed);
  }
  fail("make_model: kind is {}, needs one that enum_names lists", static_cast<int>(options.kind));
}

}  // namespace edgewise
