// SPDX-License-Identifier: Apache-2.0
#include "tests/models/transformer_scorer.h"

#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>

#include "edgewise/search/pick_candidates.h"
#include "tests/models/recorded_heads.h"

namespace edgewise {

TransformerScorer::TransformerScorer(const Transformer& model, CrossHeads recorded)
    : model_(&model),
      recorded_(resolve_cross_heads(recorded, model.options(), "TransformerScorer")),
      layers_(model.decoder().layers.size()) {}

void TransformerScorer::encode(std::span<const std::int64_t> slots, std::span<const Tokens> inputs) {
  const c10::InferenceMode no_gradients;
  Pass pass = Pass::inference();
  const at::Tensor encoded_SM = model_->encode(make_input_batch(inputs), pass);
  const std::vector<NodeIndex> rows = slots_.assign(slots, inputs);  // last: an error must leave the slots unchanged
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Projections cross = model_->decoder().layers[i].project_cross_qkv(encoded_SM, AttentionFields::kKeyValue);
    layers_[i].cross_key.write(rows, cross.key);
    layers_[i].cross_value.write(rows, cross.value);
  }
}

/// The nodes of a tree are not in the order of their positions, so a bias is a column of edges.
SelfPositions TransformerScorer::read_positions(const DecodingSlots::NewNodes& nodes, const Relation& ancestors,
                                                const at::TensorOptions& options) {
  positions_.resize(static_cast<std::size_t>(slots_.num_nodes()));
  for (std::size_t i = 0; i < nodes.numbers.size(); ++i) {
    positions_[static_cast<std::size_t>(nodes.numbers[i])] = nodes.positions[i];
  }
  const RelativePositions& relative = model_->decoder().positions;
  SelfPositions positions = relative.of_nodes(nodes.positions, options);
  if (!relative.has_bias()) return positions;
  std::vector<std::int64_t> distances;
  const EdgeList edges = ancestors.edges();
  for (std::size_t i = 0; i < edges.sources.size(); ++i) {
    distances.push_back(nodes.positions[static_cast<std::size_t>(edges.destinations[i])] -
                        positions_[static_cast<std::size_t>(edges.sources[i])]);
  }
  positions.bias = Score::of_edges(relative.bias(at::tensor(distances)));
  return positions;
}

std::optional<Score> TransformerScorer::cross_bias(const DecodingSlots::NewNodes& nodes) const {
  const RelativePositions& relative = model_->decoder().cross_positions;
  if (!relative.has_bias()) return {};
  const RelationView inputs = nodes.inputs.view();
  std::vector<std::int64_t> distances;
  for (std::size_t row = 0; row < nodes.positions.size(); ++row) {
    const std::int64_t length = inputs.row_begin[row + 1] - inputs.row_begin[row];
    for (std::int64_t token = 0; token < length; ++token) {
      const bool is_mirrored = model_->options().mirror_positions;
      distances.push_back(nodes.positions[row] - (is_mirrored ? mirrored_number(token, length) : token));
    }
  }
  return Score::of_edges(relative.bias(at::tensor(distances)));
}

Relation TransformerScorer::select_ancestors(const DecodingSlots::NewNodes& nodes, std::size_t layer) const {
  const RelationPatterns patterns = model_->options().decoder_patterns();
  if (patterns.is_default(layer)) return nodes.ancestors;
  const RelationView all = nodes.ancestors.view();
  const auto append_permitted = [&](std::int64_t row, std::vector<NodeIndex>& sources) {
    std::vector<NodeIndex> tokens;
    append_sources(patterns.of_layer(layer), Direction::kCausal, {.token = nodes.positions[row]}, tokens);
    for (const NodeIndex token : tokens) sources.push_back(all.source(row, all.row_begin[row] + token));
  };
  return Relation::from_rows(all.num_sources, all.num_destinations, append_permitted);
}

at::Tensor TransformerScorer::run_self_attention(std::size_t layer, const DecodingSlots::NewNodes& nodes,
                                                 const at::Tensor& x, Pass& pass) {
  const DecoderLayer& parameters = model_->decoder().layers[layer];
  LayerCache& cache = layers_[layer];
  const Relation ancestors = select_ancestors(nodes, layer);
  const SelfPositions positions = read_positions(nodes, ancestors, x.options());

  const Projections self = rotate(parameters.project_self_qkv(x), positions.rotation);
  cache.key.write(nodes.numbers, self.key);
  cache.value.write(nodes.numbers, self.value);
  const std::int64_t num_nodes = slots_.num_nodes();
  const at::Tensor self_average = parameters.self_attention.average(ancestors, self.query, cache.key.first(num_nodes),
                                                                    cache.value.first(num_nodes), pass, positions.bias);
  return parameters.finish_self_attention(x, self_average, pass);
}

at::Tensor TransformerScorer::run_ssru(std::size_t layer, const DecodingSlots::NewNodes& nodes, const at::Tensor& x,
                                       Pass& pass) {
  const DecoderLayer& parameters = model_->decoder().layers[layer];
  RowBuffer& cells = layers_[layer].cell;
  const Columns columns = parameters.ssru.project(parameters.self_sublayer.prepare_input(x));
  const RelationView all = nodes.ancestors.view();
  for (std::size_t i = 0; i < nodes.numbers.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    at::Tensor cell = columns.at("cell")[row];
    if (nodes.positions[i] > 0) {
      const NodeIndex parent = all.source(row, all.row_begin[row + 1] - 2);  // the last ancestor is the node itself
      cell = cell + columns.at("gate")[row] * cells.first(parent + 1)[parent];
    }
    cells.write(std::span(&nodes.numbers[i], 1), cell.unsqueeze(0));
  }
  const at::Tensor numbers = at::tensor(at::ArrayRef<NodeIndex>(nodes.numbers), at::kLong);
  return parameters.finish_ssru(x, cells.first(slots_.num_nodes()).index_select(0, numbers), pass);
}

/// The edges have the order of StepResult::attention: by row.
void TransformerScorer::record_attention(const DecodingSlots::NewNodes& nodes, const at::Tensor& weights_EH,
                                         std::vector<float>& attention) const {
  const at::Tensor weights = select_recorded_head(recorded_, weights_EH);
  attention.resize(static_cast<std::size_t>(weights.numel()));
  for_each_edge(nodes.inputs.view(), [&](NodeIndex /*input*/, NodeIndex node, EdgeIndex edge) {
    if (!is_active_.const_data_ptr<bool>()[node]) return;
    attention[static_cast<std::size_t>(edge)] = float_span(weights)[static_cast<std::size_t>(edge)];
  });
}

void TransformerScorer::halt(std::int64_t layers, const DecodingSlots::NewNodes& nodes, const at::Tensor& x,
                             std::vector<std::int64_t>& last) {
  const ExitOptions& exits = model_->options().exits;
  const auto exit = std::ranges::find(exits.layers, layers);
  if (exit == exits.layers.end()) return;
  const at::Tensor probability = model_->exits()[static_cast<std::size_t>(exit - exits.layers.begin())](x);
  const RelationView inputs = nodes.inputs.view();
  for (std::size_t i = 0; i < last.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    bool& is_active = is_active_.mutable_data_ptr<bool>()[row];
    const std::int64_t input_tokens = inputs.row_begin[row + 1] - inputs.row_begin[row];
    if (!is_active || probability[row].item<double>() < exits.threshold_at(nodes.positions[i], input_tokens)) continue;
    is_active = false;
    last[i] = layers;
  }
}

at::Tensor TransformerScorer::run_layer(std::size_t layer, const DecodingSlots::NewNodes& nodes, const at::Tensor& x,
                                        Pass& pass, std::vector<float>* attention) {
  const DecoderLayer& parameters = model_->decoder().layers[layer];
  LayerCache& cache = layers_[layer];
  const bool has_ssru = parameters.ssru.is_on();
  const at::Tensor y = has_ssru ? run_ssru(layer, nodes, x, pass) : run_self_attention(layer, nodes, x, pass);

  const at::Tensor query = parameters.project_cross_qkv(y, AttentionFields::kQuery).query;
  const at::Tensor cross_key = cache.cross_key.first(slots_.num_inputs());
  const at::Tensor cross_value = cache.cross_value.first(slots_.num_inputs());
  const std::optional<Score> bias = cross_bias(nodes);
  if (attention != nullptr && static_cast<std::int64_t>(layer) <= recorded_.layer) {
    record_attention(nodes, parameters.cross_attention.weights(nodes.inputs, query, cross_key, bias), *attention);
  }
  return parameters.finish_layer(
      y, parameters.cross_attention.average(nodes.inputs, query, cross_key, cross_value, pass, bias), pass);
}

void TransformerScorer::step(const StepRequest& request, StepResult& result) {
  const c10::InferenceMode no_gradients;
  Pass pass = Pass::inference();
  result.attention.clear();
  result.log_probabilities.clear();
  const DecodingSlots::NewNodes nodes = slots_.add_nodes(request.nodes);
  if (nodes.numbers.empty()) return pick_candidates({}, request, result);

  at::Tensor x = model_->embed_output(nodes.tokens, nodes.positions, pass);
  is_active_ = at::ones({x.size(0), 1}, at::kBool);
  std::vector<std::int64_t> last(nodes.numbers.size(), std::ssize(layers_));
  for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
    x = at::where(is_active_, run_layer(layer, nodes, x, pass, request.attention ? &result.attention : nullptr), x);
    if (model_->options().exits.can_halt()) halt(static_cast<std::int64_t>(layer) + 1, nodes, x, last);
  }
  result.ponder_steps.clear();
  if (model_->options().exits.can_halt()) result.ponder_steps = last;
  const at::Tensor scores = model_->log_probabilities(model_->decoder().norm(x)).to(at::kFloat).contiguous();
  const std::span<const float> values = float_span(scores);
  pick_candidates(values, request, result);
  if (request.all) result.log_probabilities.assign(values.begin(), values.end());
}

}  // namespace edgewise
