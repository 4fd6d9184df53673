// SPDX-License-Identifier: Apache-2.0
#include "edgewise/models/transformer_scorer.h"

#include <c10/core/InferenceMode.h>

#include "edgewise/models/shown_heads.h"
#include "edgewise/search/pick_candidates.h"

namespace edgewise {

TransformerScorer::TransformerScorer(const Transformer& model, CrossHeads shown)
    : model_(&model),
      shown_(heads_of_model(shown, model.options(), "TransformerScorer")),
      layers_(model.decoder().layers.size()) {}

void TransformerScorer::read(std::span<const std::int64_t> places, std::span<const Tokens> inputs) {
  const c10::InferenceMode no_gradients;
  Pass pass = Pass::inference();
  const std::vector<NodeIndex> rows = places_.read(places, inputs);
  const at::Tensor encoded_SM = model_->encode(make_input_batch(pool_, inputs), pass);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Projections memory = model_->decoder().layers[i].before_cross(encoded_SM, AttentionFields::kKeyValue);
    layers_[i].cross_key.put(rows, memory.key);
    layers_[i].cross_value.put(rows, memory.value);
  }
}

at::Tensor TransformerScorer::layer_step(std::size_t layer, const DecodingPlaces::NewNodes& nodes, const at::Tensor& x,
                                         Pass& pass, std::vector<float>* attention) {
  const DecoderLayer& parameters = model_->decoder().layers[layer];
  LayerMemory& memory = layers_[layer];

  const Projections self = parameters.before_self(x);
  memory.key.put(nodes.numbers, self.key);
  memory.value.put(nodes.numbers, self.value);
  const std::int64_t num_nodes = places_.num_nodes();
  const at::Tensor seen = parameters.self_attention.average(nodes.ancestors, self.query, memory.key.first(num_nodes),
                                                            memory.value.first(num_nodes), pass);
  const at::Tensor y = parameters.after_self(x, seen, pass);

  const at::Tensor query = parameters.before_cross(y, AttentionFields::kQuery).query;
  const at::Tensor cross_key = memory.cross_key.first(places_.num_inputs());
  const at::Tensor cross_value = memory.cross_value.first(places_.num_inputs());
  if (attention != nullptr && static_cast<std::int64_t>(layer) == shown_.layer) {
    // Edges go row by row, as a step's result does.
    const at::Tensor weights =
        shown_weights(shown_, parameters.cross_attention.weights(nodes.inputs, query, cross_key));
    attention->assign(floats_of(weights).begin(), floats_of(weights).end());
  }
  return parameters.after_cross(
      y, parameters.cross_attention.average(nodes.inputs, query, cross_key, cross_value, pass), pass);
}

void TransformerScorer::step(const StepRequest& request, StepResult& result) {
  const c10::InferenceMode no_gradients;
  Pass pass = Pass::inference();
  result.attention.clear();
  result.log_probabilities.clear();
  const DecodingPlaces::NewNodes nodes = places_.grow(request.nodes);
  if (nodes.numbers.empty()) return pick_candidates({}, request, result);

  at::Tensor x = model_->embed_output(nodes.tokens, nodes.positions, pass);
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    x = layer_step(layer, nodes, x, pass, request.attention ? &result.attention : nullptr);
  }
  const at::Tensor scores = model_->log_probabilities(model_->decoder().norm(x)).to(at::kFloat).contiguous();
  const std::span<const float> values = floats_of(scores);
  pick_candidates(values, request, result);
  if (request.all) result.log_probabilities.assign(values.begin(), values.end());
}

}  // namespace edgewise
