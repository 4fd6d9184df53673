// SPDX-License-Identifier: Apache-2.0
#include "edgewise/models/transformer_scorer.h"

#include <c10/core/InferenceMode.h>

#include <algorithm>

#include "edgewise/base/error.h"

namespace edgewise {

void TransformerScorer::start(std::span<const Tokens> inputs) {
  const c10::InferenceMode no_gradients;
  Pass pass = Pass::inference();
  const Batch batch = make_input_batch(pool_, inputs);
  const at::Tensor encoded_SM = model_->encode(batch, pass);

  input_lengths_ = batch.input_lengths;
  layers_.clear();
  for (const DecoderLayer& layer : model_->decoder().layers) {
    const Projections memory = layer.before_cross(encoded_SM, AttentionFields::kKeyValue);
    layers_.push_back({memory.key, memory.value, {}, {}});
  }
}

at::Tensor TransformerScorer::embed(const HypothesisTree& tree, NodeIndex first_node, Pass& pass) const {
  std::vector<std::int64_t> tokens;
  std::vector<std::int64_t> positions;
  for (NodeIndex node = first_node; node < tree.num_nodes(); ++node) {
    tokens.push_back(tree.token(node));
    positions.push_back(tree.depth(node));
  }
  return model_->embed_output(tokens, positions, pass);
}

at::Tensor TransformerScorer::layer_step(std::size_t layer, const Relation& ancestors, const Relation& inputs,
                                         const at::Tensor& x, Pass& pass) {
  const DecoderLayer& parameters = model_->decoder().layers[layer];
  LayerMemory& memory = layers_[layer];

  const Projections self = parameters.before_self(x);
  memory.key.append(self.key);
  memory.value.append(self.value);
  const at::Tensor seen =
      parameters.self_attention.average(ancestors, self.query, memory.key.all(), memory.value.all(), pass);
  const at::Tensor y = parameters.after_self(x, seen, pass);

  const at::Tensor query = parameters.before_cross(y, AttentionFields::kQuery).query;
  return parameters.after_cross(
      y, parameters.cross_attention.average(inputs, query, memory.cross_key, memory.cross_value, pass), pass);
}

void TransformerScorer::step(const HypothesisTree& tree, NodeIndex first_node, std::span<float> log_probabilities) {
  check(!layers_.empty(), "TransformerScorer::step: no inputs were read, call start first");
  const std::int64_t computed = layers_.front().key.size();
  check(first_node == computed,
        "TransformerScorer::step: first_node is {}, needs {}, the number of nodes computed so far", first_node,
        computed);
  const std::int64_t new_nodes = tree.num_nodes() - first_node;
  const auto values = static_cast<std::size_t>(new_nodes * vocabulary_size());
  check(log_probabilities.size() == values,
        "TransformerScorer::step: log_probabilities has room for {} values, {} new nodes need {}",
        log_probabilities.size(), new_nodes, values);
  if (new_nodes == 0) return;

  const c10::InferenceMode no_gradients;
  Pass pass = Pass::inference();
  const Relation ancestors = tree.ancestors(first_node);
  const Relation inputs = tree.inputs(first_node, input_lengths_);
  at::Tensor x = embed(tree, first_node, pass);
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) x = layer_step(layer, ancestors, inputs, x, pass);
  const at::Tensor scores = model_->log_probabilities(model_->decoder().norm(x)).to(at::kFloat).contiguous();
  std::copy_n(scores.const_data_ptr<float>(), values, log_probabilities.begin());
}

}  // namespace edgewise
