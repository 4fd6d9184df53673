// SPDX-License-Identifier: Apache-2.0
#include "edgewise/models/transformer_scorer.h"

#include <c10/core/InferenceMode.h>

#include <algorithm>

#include "edgewise/base/checked.h"
#include "edgewise/base/error.h"
#include "edgewise/search/pick_candidates.h"

namespace edgewise {
namespace {

/// An index from the end, as Python has it, to one from the start.
std::int64_t from_start(std::int64_t index, std::int64_t count, std::string_view what) {
  check(index >= -1 && index < count, "TransformerScorer: {} is {}, the model has {}, counted from 0", what, index,
        count);
  return index < 0 ? count - 1 : index;
}

std::span<const float> values_of(const at::Tensor& tensor) {
  return {tensor.const_data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

}  // namespace

TransformerScorer::TransformerScorer(const Transformer& model, CrossHeads shown)
    : model_(&model), shown_(shown), layers_(model.decoder().layers.size()) {
  shown_.layer = from_start(shown.layer, model.options().decoder_layers, "the layer whose attention is shown");
  from_start(shown.head, model.options().heads, "the head whose attention is shown");
}

void TransformerScorer::read(std::span<const std::int64_t> places, std::span<const Tokens> inputs) {
  check(places.size() == inputs.size(),
        "TransformerScorer::read: there are {} places for {} inputs, as many are needed", places.size(), inputs.size());
  const c10::InferenceMode no_gradients;
  Pass pass = Pass::inference();
  const Batch batch = make_input_batch(pool_, inputs);
  const at::Tensor encoded_SM = model_->encode(batch, pass);
  const std::vector<NodeIndex> numbers = make_room(places, inputs);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Projections memory = model_->decoder().layers[i].before_cross(encoded_SM, AttentionFields::kKeyValue);
    layers_[i].cross_key.put(numbers, memory.key);
    layers_[i].cross_value.put(numbers, memory.value);
  }
}

/// The row of each token of the inputs.
std::vector<NodeIndex> TransformerScorer::make_room(std::span<const std::int64_t> places,
                                                    std::span<const Tokens> inputs) {
  for (const std::int64_t place : places) {
    check(place >= 0, "TransformerScorer::read: a place is {}, needs 0 or more", place);
    if (place >= std::ssize(inputs_)) inputs_.resize(static_cast<std::size_t>(place) + 1);
    tree_.forget(place);
    input_space_.give_back(std::exchange(inputs_[static_cast<std::size_t>(place)], {}));
  }
  std::vector<NodeIndex> numbers;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto size = narrow<NodeIndex>(std::ssize(inputs[i]), "TransformerScorer::read: the length of an input");
    const Interval interval = input_space_.take(size);
    inputs_[static_cast<std::size_t>(places[i])] = interval;
    for (NodeIndex number = interval.begin; number < interval.end; ++number) numbers.push_back(number);
  }
  return numbers;
}

TransformerScorer::NewNodes TransformerScorer::grow(std::span<const NewNode> nodes) {
  NewNodes grown;
  for (const NewNode& node : nodes) {
    const auto in_tree = tree_.nodes_of(node.place);
    const bool is_read = node.place >= 0 && node.place < std::ssize(inputs_) &&
                         inputs_[static_cast<std::size_t>(node.place)] != Interval();
    check(is_read, "TransformerScorer::step: place {} has no input, call read first", node.place);
    check(node.parent >= HypothesisTree::kRoot && node.parent < std::ssize(in_tree),
          "TransformerScorer::step: the parent of a node is {}, but its sentence has {} nodes, counted from 0",
          node.parent, in_tree.size());
    const NodeIndex parent =
        node.parent == HypothesisTree::kRoot ? node.parent : in_tree[static_cast<std::size_t>(node.parent)];
    grown.numbers.push_back(tree_.grow(node.place, parent, node.token));
  }
  grown.ancestors = tree_.ancestors(grown.numbers);
  grown.inputs = tree_.inputs(grown.numbers, inputs_, input_space_.end());
  return grown;
}

at::Tensor TransformerScorer::embed(std::span<const NodeIndex> numbers, Pass& pass) const {
  std::vector<std::int64_t> tokens;
  std::vector<std::int64_t> positions;
  for (const NodeIndex node : numbers) {
    tokens.push_back(tree_.token(node));
    positions.push_back(tree_.depth(node));
  }
  return model_->embed_output(tokens, positions, pass);
}

at::Tensor TransformerScorer::layer_step(std::size_t layer, const NewNodes& nodes, const at::Tensor& x, Pass& pass) {
  const DecoderLayer& parameters = model_->decoder().layers[layer];
  LayerMemory& memory = layers_[layer];

  const Projections self = parameters.before_self(x);
  memory.key.put(nodes.numbers, self.key);
  memory.value.put(nodes.numbers, self.value);
  const std::int64_t num_nodes = tree_.num_nodes();
  const at::Tensor seen = parameters.self_attention.average(nodes.ancestors, self.query, memory.key.first(num_nodes),
                                                            memory.value.first(num_nodes), pass);
  const at::Tensor y = parameters.after_self(x, seen, pass);

  const at::Tensor query = parameters.before_cross(y, AttentionFields::kQuery).query;
  const at::Tensor cross_key = memory.cross_key.first(input_space_.end());
  const at::Tensor cross_value = memory.cross_value.first(input_space_.end());
  if (nodes.attention != nullptr && static_cast<std::int64_t>(layer) == shown_.layer) {
    show(parameters.cross_attention.weights(nodes.inputs, query, cross_key), *nodes.attention);
  }
  return parameters.after_cross(
      y, parameters.cross_attention.average(nodes.inputs, query, cross_key, cross_value, pass), pass);
}

/// Edges go row by row, as a step's result does.
void TransformerScorer::show(const at::Tensor& weights_EH, std::vector<float>& attention) const {
  const at::Tensor weights_E = shown_.head < 0 ? weights_EH.mean(1) : weights_EH.select(1, shown_.head);
  const at::Tensor weights = weights_E.to(at::kFloat).contiguous();
  const std::span<const float> values = values_of(weights);
  attention.assign(values.begin(), values.end());
}

void TransformerScorer::step(const StepRequest& request, StepResult& result) {
  const c10::InferenceMode no_gradients;
  Pass pass = Pass::inference();
  result.attention.clear();
  result.log_probabilities.clear();
  NewNodes nodes = grow(request.nodes);
  if (request.attention) nodes.attention = &result.attention;
  if (nodes.numbers.empty()) return pick_candidates({}, request, result);

  at::Tensor x = embed(nodes.numbers, pass);
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) x = layer_step(layer, nodes, x, pass);
  const at::Tensor scores = model_->log_probabilities(model_->decoder().norm(x)).to(at::kFloat).contiguous();
  const std::span<const float> values = values_of(scores);
  pick_candidates(values, request, result);
  if (request.all) result.log_probabilities.assign(values.begin(), values.end());
}

}  // namespace edgewise
