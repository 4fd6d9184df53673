// SPDX-License-Identifier: Apache-2.0
#include "edgewise/models/universal_scorer.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/log_softmax.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <limits>

#include "edgewise/graph/picked.h"
#include "edgewise/graph/relation_ops.h"
#include "edgewise/models/shown_heads.h"
#include "edgewise/ops/rows.h"
#include "edgewise/search/pick_candidates.h"

namespace edgewise {
namespace {

constexpr std::int64_t kStillThinks = std::numeric_limits<std::int64_t>::max();

}  // namespace

/// The decoder's layer over new nodes, whose keys and values go where later ones find them.
class UniversalScorer::Thinking : public ThinkingLayer {
 public:
  Thinking(UniversalScorer& scorer, const DecodingPlaces::NewNodes& nodes, const StepSignals& signals,
           std::vector<at::Tensor>* attention)
      : scorer_(&scorer),
        nodes_(&nodes),
        signals_(&signals),
        attention_(attention),
        layer_(&scorer.model_->decoder().layer),
        filter_(&scorer.model_->decoder().filter),
        memory_({{},
                 scorer.cross_key_.first(scorer.places_.num_inputs()),
                 scorer.cross_value_.first(scorer.places_.num_inputs())}) {}

  at::Tensor step(const std::vector<NodeIndex>& active, const at::Tensor& x_AM, std::int64_t step,
                  Pass& pass) override {
    made_ = layer_->before_self(x_AM);
    step_ = step;
    put(step, picked<NodeIndex>(nodes_->numbers, active), made_);
    const std::int64_t num_nodes = scorer_->places_.num_nodes();
    Shown& shown = of_step(step);
    shown.key.make_room(num_nodes, made_.key);
    shown.value.make_room(num_nodes, made_.value);
    const at::Tensor heard_AHV = layer_->self_attention.average(seen(active), made_.query, shown.key.first(num_nodes),
                                                                shown.value.first(num_nodes), pass);
    const Relation inputs = select_rows(nodes_->inputs, active);
    if (attention_ != nullptr) show_attention(active, inputs, layer_->after_self(x_AM, heard_AHV, pass));
    NodeState attended = layer_->attended(inputs, x_AM, heard_AHV, memory_, pass);
    if (filter_->is_on()) attended.read_TM = filtered(active, attended.read_TM, shown.read);
    return layer_->fed(attended, Norm(), pass).x_TM;
  }

  void halt(const std::vector<NodeIndex>& active, const std::vector<NodeIndex>& leaving, const at::Tensor& x_AM,
            const Pass& /*pass*/) override {
    const std::vector<NodeIndex> new_rows = picked<NodeIndex>(active, leaving);
    const std::vector<NodeIndex> numbers = picked<NodeIndex>(nodes_->numbers, new_rows);
    for (const NodeIndex number : numbers) scorer_->num_steps_[static_cast<std::size_t>(number)] = step_ + 1;
    const auto num_steps = std::ssize(scorer_->steps_);
    switch (scorer_->model_->options().universal.halted_keys) {
      case HaltedKeys::kFrozen: {
        const at::Tensor x = take_rows(x_AM, leaving);
        const Projections last = layer_->before_self(x, AttentionFields::kKeyValue);
        const at::Tensor read = filter_->is_on() ? layer_->feed_forward_sublayer.before(x) : at::Tensor();
        for (std::int64_t later = step_ + 1; later < num_steps; ++later) {
          put(later, numbers, last);
          if (filter_->is_on()) of_step(later).read.put(numbers, read);
        }
        break;
      }
      case HaltedKeys::kStale: {
        const Projections last = {{}, take_rows(made_.key, leaving), take_rows(made_.value, leaving)};
        for (std::int64_t later = step_ + 1; later < num_steps; ++later) put(later, numbers, last);
        break;
      }
      case HaltedKeys::kRecomputed: {
        const at::Tensor x = take_rows(x_AM, leaving);
        for (std::int64_t later = step_ + 1; later < num_steps; ++later) {
          put(later, numbers, layer_->before_self(x + (*signals_)(new_rows, later), AttentionFields::kKeyValue));
        }
        break;
      }
      case HaltedKeys::kDropped:
        break;
    }
  }

 private:
  Shown& of_step(std::int64_t step) const { return scorer_->steps_[static_cast<std::size_t>(step)]; }

  void put(std::int64_t step, const std::vector<NodeIndex>& numbers, const Projections& made) {
    of_step(step).key.put(numbers, made.key);
    of_step(step).value.put(numbers, made.value);
  }

  /// What feed-forward reads of the active nodes behind the filter; `read` keeps what later ones read of them.
  at::Tensor filtered(const std::vector<NodeIndex>& active, const at::Tensor& read_AM, RowStore& read) const {
    const std::vector<NodeIndex> numbers = picked<NodeIndex>(nodes_->numbers, active);
    read.put(numbers, read_AM);
    read.make_room(scorer_->places_.num_nodes(), read_AM);
    return (*filter_)(read.first(scorer_->places_.num_nodes()),
                      neighbours(nodes_->ancestors, active, numbers, filter_->reach));
  }

  /// Whom the active nodes see in this step.
  Relation seen(const std::vector<NodeIndex>& active) const {
    Relation ancestors = select_rows(nodes_->ancestors, active);
    if (scorer_->model_->options().universal.halted_keys != HaltedKeys::kDropped) return ancestors;
    const EdgeList ends = ancestors.edges();
    std::vector<EdgeIndex> kept;
    for (std::size_t edge = 0; edge < ends.sources.size(); ++edge) {
      const bool still_thinks = scorer_->num_steps_[static_cast<std::size_t>(ends.sources[edge])] > step_;
      if (still_thinks) kept.push_back(static_cast<EdgeIndex>(edge));
    }
    return keep_edges(ancestors, kept);
  }

  void show_attention(const std::vector<NodeIndex>& active, const Relation& inputs, const at::Tensor& y_AM) {
    const at::Tensor query = layer_->before_cross(y_AM, AttentionFields::kQuery).query;
    const at::Tensor weights_E =
        shown_weights(scorer_->shown_, layer_->cross_attention.weights(inputs, query, memory_.key));
    for (std::size_t i = 0; i < active.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i);
      (*attention_)[static_cast<std::size_t>(active[i])] =
          weights_E.narrow(0, inputs.row_begin()[i], inputs.row_size(row));
    }
  }

  UniversalScorer* scorer_;
  const DecodingPlaces::NewNodes* nodes_;
  const StepSignals* signals_;
  std::vector<at::Tensor>* attention_;  // of each new node, if it is wanted
  const DecoderLayer* layer_;
  const NeighbourFilter* filter_;
  Projections memory_;
  Projections made_;
  std::int64_t step_ = 0;
};

UniversalScorer::UniversalScorer(const UniversalTransformer& model, CrossHeads shown)
    : model_(&model),
      shown_(heads_of_model({.layer = -1, .head = shown.head}, model.options(), "UniversalScorer")),
      steps_(static_cast<std::size_t>(model.options().decoder_layers)) {}

void UniversalScorer::read(std::span<const std::int64_t> places, std::span<const Tokens> inputs) {
  const c10::InferenceMode no_gradients;
  Pass pass = Pass::inference();
  const std::vector<NodeIndex> rows = places_.read(places, inputs);
  const at::Tensor encoded_SM = model_->encode(make_input_batch(pool_, inputs), pass).state_NM;
  const Projections memory = model_->decoder().layer.before_cross(encoded_SM, AttentionFields::kKeyValue);
  cross_key_.put(rows, memory.key);
  cross_value_.put(rows, memory.value);
}

void UniversalScorer::step(const StepRequest& request, StepResult& result) {
  const c10::InferenceMode no_gradients;
  Pass pass = Pass::inference();
  result.attention.clear();
  result.log_probabilities.clear();
  result.steps.clear();
  const DecodingPlaces::NewNodes nodes = places_.grow(request.nodes);
  if (nodes.numbers.empty()) return pick_candidates({}, request, result);

  num_steps_.resize(static_cast<std::size_t>(places_.num_nodes()));
  for (const NodeIndex number : nodes.numbers) num_steps_[static_cast<std::size_t>(number)] = kStillThinks;
  const at::Tensor x = model_->words().output_embedding(nodes.tokens);
  const StepSignals signals(model_->positions(), nodes.positions, x.scalar_type());
  std::vector<at::Tensor> attention(request.attention ? nodes.numbers.size() : 0);
  Thinking layer(*this, nodes, signals, request.attention ? &attention : nullptr);
  const Thought thought = model_->think_of_output(x, signals, layer, pass);

  result.steps = thought.steps;
  for (const at::Tensor& weights : attention) {
    result.attention.insert(result.attention.end(), floats_of(weights).begin(), floats_of(weights).end());
  }
  const at::Tensor logits = model_->words().generator(thought.state_NM);
  const at::Tensor scores = at::log_softmax(logits, -1).to(at::kFloat).contiguous();
  pick_candidates(floats_of(scores), request, result);
  if (request.all) result.log_probabilities.assign(floats_of(scores).begin(), floats_of(scores).end());
}

}  // namespace edgewise
