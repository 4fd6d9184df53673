// SPDX-License-Identifier: Apache-2.0
#include "tests/models/universal_scorer.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/log_softmax.h>
#include <c10/core/InferenceMode.h>

#include <limits>

#include "edgewise/graph/gather.h"
#include "edgewise/graph/relation_ops.h"
#include "edgewise/ops/rows.h"
#include "edgewise/search/pick_candidates.h"
#include "tests/models/recorded_heads.h"

namespace edgewise {

/// The decoder's layer over new nodes, with the scorer's cache.
class UniversalScorer::CachedLayer : public AdaptiveLayer {
 public:
  /// Records cross-attention in `attention`, one tensor for each new node, unless it is null.
  CachedLayer(UniversalScorer& scorer, const DecodingSlots::NewNodes& nodes, std::vector<at::Tensor>* attention)
      : scorer_(&scorer),
        nodes_(&nodes),
        attention_(attention),
        layer_(&scorer.model_->decoder().layer),
        convolution_(&scorer.model_->decoder().convolution),
        cross_key_value_({{},
                          scorer.cross_key_.first(scorer.slots_.num_inputs()),
                          scorer.cross_value_.first(scorer.slots_.num_inputs())}) {}

  at::Tensor step(const std::vector<NodeIndex>& active, const at::Tensor& x_AM, std::int64_t step,
                  Pass& pass) override {
    const Projections self = layer_->project_self_qkv(x_AM);
    step_ = step;
    write_key_value(step, gather<NodeIndex>(nodes_->numbers, active), self);
    const std::int64_t num_nodes = scorer_->slots_.num_nodes();
    StepCache& cache = step_cache(step);
    cache.key.reserve(num_nodes, self.key);
    cache.value.reserve(num_nodes, self.value);
    const at::Tensor average_AHV = layer_->self_attention.average(
        self_edges(active), self.query, cache.key.first(num_nodes), cache.value.first(num_nodes), pass);
    const Relation cross_edges = select_rows(nodes_->inputs, active);
    if (attention_ != nullptr) {
      record_attention(active, cross_edges, layer_->finish_self_attention(x_AM, average_AHV, pass));
    }
    NodeState attended =
        layer_->attend_encoder(cross_edges, x_AM, layer_->self_attention.get_o(average_AHV), cross_key_value_, pass);
    if (convolution_->is_on()) attended.input_TM = convolve(active, attended.input_TM, cache.input);
    return layer_->apply_feed_forward(attended, Norm(), pass).x_TM;
  }

  /// Writes the last keys, values and convolution inputs of the halting nodes for later steps, unless keys are dropped.
  void halt(const std::vector<NodeIndex>& active, const std::vector<NodeIndex>& halting, const at::Tensor& x_AM,
            const Pass& /*pass*/) override {
    const std::vector<NodeIndex> numbers = gather<NodeIndex>(nodes_->numbers, gather<NodeIndex>(active, halting));
    for (const NodeIndex number : numbers) scorer_->num_steps_[static_cast<std::size_t>(number)] = step_ + 1;
    if (scorer_->model_->options().universal.halted_keys == HaltedKeys::kDropped) return;
    const at::Tensor x = take_rows(x_AM, halting);
    const Projections last = layer_->project_self_qkv(x, AttentionFields::kKeyValue);
    const at::Tensor input = convolution_->is_on() ? layer_->feed_forward_sublayer.prepare_input(x) : at::Tensor();
    for (std::int64_t later = step_ + 1; later < std::ssize(scorer_->steps_); ++later) {
      write_key_value(later, numbers, last);
      if (convolution_->is_on()) step_cache(later).input.write(numbers, input);
    }
  }

 private:
  StepCache& step_cache(std::int64_t step) const { return scorer_->steps_[static_cast<std::size_t>(step)]; }

  void write_key_value(std::int64_t step, const std::vector<NodeIndex>& numbers, const Projections& projections) {
    step_cache(step).key.write(numbers, projections.key);
    step_cache(step).value.write(numbers, projections.value);
  }

  /// Convolves the inputs of the active nodes, and stores these inputs in `cache` for later nodes.
  at::Tensor convolve(const std::vector<NodeIndex>& active, const at::Tensor& input_AM, RowBuffer& cache) const {
    const std::vector<NodeIndex> numbers = gather<NodeIndex>(nodes_->numbers, active);
    cache.write(numbers, input_AM);
    cache.reserve(scorer_->slots_.num_nodes(), input_AM);
    return (*convolution_)(cache.first(scorer_->slots_.num_nodes()),
                           find_neighbours(nodes_->ancestors, active, numbers, convolution_->window));
  }

  /// Returns the edges into the active nodes: from their ancestors or, with HaltedKeys::kDropped, from the ancestors
  /// that are active in this step.
  Relation self_edges(const std::vector<NodeIndex>& active) const {
    Relation ancestors = select_rows(nodes_->ancestors, active);
    if (scorer_->model_->options().universal.halted_keys != HaltedKeys::kDropped) return ancestors;
    const EdgeList ends = ancestors.edges();
    std::vector<EdgeIndex> edges_from_active;
    for (std::size_t edge = 0; edge < ends.sources.size(); ++edge) {
      const bool is_active = scorer_->num_steps_[static_cast<std::size_t>(ends.sources[edge])] > step_;
      if (is_active) edges_from_active.push_back(static_cast<EdgeIndex>(edge));
    }
    return keep_edges(ancestors, edges_from_active);
  }

  void record_attention(const std::vector<NodeIndex>& active, const Relation& cross_edges, const at::Tensor& y_AM) {
    const at::Tensor query = layer_->project_cross_qkv(y_AM, AttentionFields::kQuery).query;
    const at::Tensor weights_E = select_recorded_head(
        scorer_->recorded_, layer_->cross_attention.weights(cross_edges, query, cross_key_value_.key));
    for (std::size_t i = 0; i < active.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i);
      (*attention_)[static_cast<std::size_t>(active[i])] =
          weights_E.narrow(0, cross_edges.row_begin()[i], cross_edges.row_size(row));
    }
  }

  UniversalScorer* scorer_;
  const DecodingSlots::NewNodes* nodes_;
  std::vector<at::Tensor>* attention_;
  const DecoderLayer* layer_;
  const DepthwiseConvolution* convolution_;
  Projections cross_key_value_;
  std::int64_t step_ = 0;
};

UniversalScorer::UniversalScorer(const UniversalTransformer& model, CrossHeads recorded)
    : model_(&model),
      recorded_(resolve_cross_heads(recorded, model.options(), "UniversalScorer")),
      steps_(static_cast<std::size_t>(model.options().decoder_layers)) {}

void UniversalScorer::encode(std::span<const std::int64_t> slots, std::span<const Tokens> inputs) {
  const c10::InferenceMode no_gradients;
  Pass pass = Pass::inference();
  const at::Tensor encoded_SM = model_->encode(make_input_batch(inputs), pass).state_NM;
  const std::vector<NodeIndex> rows = slots_.assign(slots, inputs);  // last: an error must leave the slots unchanged
  const Projections cross = model_->decoder().layer.project_cross_qkv(encoded_SM, AttentionFields::kKeyValue);
  cross_key_.write(rows, cross.key);
  cross_value_.write(rows, cross.value);
}

void UniversalScorer::step(const StepRequest& request, StepResult& result) {
  const c10::InferenceMode no_gradients;
  Pass pass = Pass::inference();
  result.attention.clear();
  result.log_probabilities.clear();
  result.ponder_steps.clear();
  const DecodingSlots::NewNodes nodes = slots_.add_nodes(request.nodes);
  if (nodes.numbers.empty()) return pick_candidates({}, request, result);

  num_steps_.resize(static_cast<std::size_t>(slots_.num_nodes()));
  constexpr std::int64_t kNotHalted = std::numeric_limits<std::int64_t>::max();
  for (const NodeIndex number : nodes.numbers) num_steps_[static_cast<std::size_t>(number)] = kNotHalted;
  const at::Tensor x = model_->vocabulary_layers().output_embedding(nodes.tokens);
  const CoordinateEmbeddings coordinates(model_->positions(), nodes.positions, x.options());
  std::vector<at::Tensor> attention(request.attention ? nodes.numbers.size() : 0);
  CachedLayer layer(*this, nodes, request.attention ? &attention : nullptr);
  const AdaptiveResult decoded = model_->run_decoder_steps(x, coordinates, layer, pass);

  result.ponder_steps = decoded.steps;
  for (const at::Tensor& weights : attention) {
    result.attention.insert(result.attention.end(), float_span(weights).begin(), float_span(weights).end());
  }
  const at::Tensor logits = model_->vocabulary_layers().output_projection(decoded.state_NM);
  const at::Tensor scores = at::log_softmax(logits, -1).to(at::kFloat).contiguous();
  pick_candidates(float_span(scores), request, result);
  if (request.all) result.log_probabilities.assign(float_span(scores).begin(), float_span(scores).end());
}

}  // namespace edgewise
