// SPDX-License-Identifier: Apache-2.0
#include "edgewise/infer/runtime_scorer.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/base/profile.h"
#include "edgewise/infer/layer_rows.h"
#include "edgewise/infer/node_memory.h"
#include "edgewise/infer/vocabulary_output.h"
#include "edgewise/infer/word_vectors.h"
#include "edgewise/kernels/scatter_rows.h"

namespace edgewise {
namespace {

using kernels::SourceRange;

/// A sentence's input and its hypotheses. T is what keys and values are kept in.
template <typename T>
struct Place {
  InputMemory<T>* memory = nullptr;  // null: nothing was read
  std::vector<const T*> input;
  NodeMemory<T> nodes;
};

/// Who sees whom: the rows' ranges of one list of pieces.
template <typename T>
struct Sources {
  std::vector<SourceRange> ranges;
  std::vector<const T*> pieces;

  void clear() {
    ranges.clear();
    pieces.clear();
  }
};

template <typename T>
class RuntimeScorer : public Scorer {
  // Keys and values are read as often as weights, in the end, and need no more of a number than those.
  using Cached = std::conditional_t<std::is_same_v<T, float>, float, BFloat16>;

 public:
  RuntimeScorer(const Weights<T>& weights, const CrossHeads& attention);

  std::int64_t vocabulary_size() const override { return weights_.options.output_vocabulary; }
  void read(std::span<const std::int64_t> places, std::span<const Tokens> inputs) override;
  void step(const StepRequest& request, StepResult& result) override;

 private:
  void check_inputs(std::span<const std::int64_t> places, std::span<const Tokens> inputs) const;
  void encode(std::span<const Tokens> inputs);
  void keep(std::span<const std::int64_t> places, std::span<const Tokens> inputs);
  InputMemory<Cached>& free_memory();
  void forget(Place<Cached>& place);
  void keep_in_pieces(std::size_t layer, const float* projected, std::int64_t stride);
  std::int64_t offset_of(std::size_t layer) const {
    return static_cast<std::int64_t>(layer) * pool_.shape().layer_step();
  }

  void add_nodes(std::span<const NewNode> nodes);
  void decode(StepResult* attention);
  void self_attend(std::size_t layer, const NormParameters& next);
  void cross_attend(std::size_t layer, const NormParameters& next, StepResult* attention);
  void begin_weights();
  void write_attention(StepResult& result) const;

  const Weights<T>& weights_;
  CrossHeads shown_;
  std::int64_t width_;
  WordVectors words_;
  LayerRows<T> rows_;
  VocabularyOutput output_;
  BlockPool<Cached> pool_;
  std::vector<Place<Cached>> places_;
  std::vector<std::unique_ptr<InputMemory<Cached>>> memories_;

  // Of the step.
  std::vector<std::int64_t> tokens_, positions_;
  std::vector<Cached*> pieces_;  // of the rows
  Sources<float> read_;          // the input's sentences
  Sources<Cached> own_;          // hypotheses
  Sources<Cached> inputs_;       // what cross attention sees
  std::vector<float> shown_weights_;
  std::vector<float*> weights_of_rows_;
};

template <typename T>
RuntimeScorer<T>::RuntimeScorer(const Weights<T>& weights, const CrossHeads& attention)
    : weights_(weights),
      shown_(attention),
      width_(weights.heads.width()),
      words_(weights.options),
      rows_(weights.options, weights.heads),
      pool_({std::ssize(weights.decoder), 2 * weights.heads.width()}) {
  const std::int64_t layers = std::ssize(weights.decoder);
  check(shown_.layer >= -1 && shown_.layer < layers,
        "RuntimeModel: attention's layer is {}, needs a number from -1 to {}", shown_.layer, layers - 1);
  check(shown_.head >= -1 && shown_.head < weights.heads.num_heads,
        "RuntimeModel: attention's head is {}, needs a number from -1 to {}", shown_.head, weights.heads.num_heads - 1);
  if (shown_.layer < 0) shown_.layer = layers - 1;
}

template <typename T>
void RuntimeScorer<T>::check_inputs(std::span<const std::int64_t> places, std::span<const Tokens> inputs) const {
  check(places.size() == inputs.size(), "read: {} inputs have {} places, one each is needed", inputs.size(),
        places.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    check(places[i] >= 0, "read: place {} is {}, needs a number of at least 0", i, places[i]);
    check(!inputs[i].empty(), "read: input {} is empty, needs at least one token", i);
  }
}

template <typename T>
void RuntimeScorer<T>::read(std::span<const std::int64_t> places, std::span<const Tokens> inputs) {
  const TimedWork timed("read");
  check_inputs(places, inputs);
  if (inputs.empty()) return;
  encode(inputs);
  keep(places, inputs);
}

template <typename T>
void RuntimeScorer<T>::encode(std::span<const Tokens> inputs) {
  tokens_.clear();
  positions_.clear();
  read_.clear();
  for (const Tokens& input : inputs) {
    const SourceRange range = {std::ssize(tokens_), std::ssize(input)};
    read_.ranges.insert(read_.ranges.end(), input.size(), range);
    tokens_.insert(tokens_.end(), input.begin(), input.end());
    for (std::int64_t position = 0; position < range.count; ++position) positions_.push_back(position);
  }
  words_.write(weights_.input_words, tokens_, positions_, "read", rows_.begin(std::ssize(tokens_)));

  const auto& layers = weights_.encoder;
  rows_.read_through(rows_.first_norm(layers.front().self_attention.norm));
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const float* projected = rows_.project(layers[i].self_attention.query_key_value);
    read_.pieces.clear();
    for (std::int64_t row = 0; row < rows_.rows(); ++row) read_.pieces.push_back(projected + row * 3 * width_);
    rows_.attend(layers[i].self_attention,
                 RowSources<float>{.ranges = read_.ranges.data(),
                                   .pieces = read_.pieces.data(),
                                   .key_offset = width_,
                                   .value_offset = 2 * width_,
                                   .query = projected,
                                   .query_stride = 3 * width_},
                 rows_.first_norm(layers[i].feed_forward.norm));
    const bool is_last = i + 1 == layers.size();
    rows_.feed_forward(layers[i].feed_forward,
                       is_last ? weights_.encoder_norm : rows_.first_norm(layers[i + 1].self_attention.norm));
  }
}

template <typename T>
auto RuntimeScorer<T>::free_memory() -> InputMemory<Cached>& {
  const auto is_free = [](const auto& memory) { return memory->sentences_left == 0; };
  const auto found = std::ranges::find_if(memories_, is_free);
  if (found != memories_.end()) return **found;
  return *memories_.emplace_back(std::make_unique<InputMemory<Cached>>(pool_.shape()));
}

template <typename T>
void RuntimeScorer<T>::forget(Place<Cached>& place) {
  if (place.memory != nullptr) --place.memory->sentences_left;
  place.memory = nullptr;
  place.nodes.clear(pool_);
}

// What was encoded becomes the places' keys and values.
template <typename T>
void RuntimeScorer<T>::keep(std::span<const std::int64_t> places, std::span<const Tokens> inputs) {
  const auto last = static_cast<std::size_t>(*std::ranges::max_element(places));
  if (last >= places_.size()) places_.resize(last + 1);
  for (const std::int64_t place : places) forget(places_[static_cast<std::size_t>(place)]);

  InputMemory<Cached>& memory = free_memory();
  memory.begin(rows_.rows(), std::ssize(inputs));
  pieces_.clear();
  for (std::int64_t row = 0; row < rows_.rows(); ++row) pieces_.push_back(memory.piece(row));
  for (std::size_t layer = 0; layer < weights_.decoder.size(); ++layer) {
    const float* projected = rows_.project(weights_.decoder[layer].cross_attention.key_value);
    keep_in_pieces(layer, projected, 2 * width_);
  }
  auto next = pieces_.begin();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Place<Cached>& place = places_[static_cast<std::size_t>(places[i])];
    place.memory = &memory;
    place.input.assign(next, next + std::ssize(inputs[i]));
    next += std::ssize(inputs[i]);
  }
}

// Keys and values of the rows in a layer, which begin `stride` apart.
template <typename T>
void RuntimeScorer<T>::keep_in_pieces(std::size_t layer, const float* projected, std::int64_t stride) {
  kernels::scatter_rows(kernels::ScatterRows<Cached>{.rows = std::ssize(pieces_),
                                                     .columns = 2 * width_,
                                                     .from = projected,
                                                     .stride = stride,
                                                     .to = pieces_.data(),
                                                     .offset = offset_of(layer)});
}

template <typename T>
void RuntimeScorer<T>::add_nodes(std::span<const NewNode> nodes) {
  tokens_.clear();
  positions_.clear();
  pieces_.clear();
  own_.clear();
  inputs_.clear();
  std::int64_t last_place = -1;
  for (const NewNode& node : nodes) {
    const bool is_read = node.place >= 0 && node.place < std::ssize(places_) &&
                         places_[static_cast<std::size_t>(node.place)].memory != nullptr;
    check(is_read, "step: place is {}, needs one into which an input was read", node.place);
    Place<Cached>& place = places_[static_cast<std::size_t>(node.place)];
    const NodeIndex number = place.nodes.add(node.parent, pool_, "step");
    tokens_.push_back(node.token);
    positions_.push_back(place.nodes.depth(number));
    pieces_.push_back(place.nodes.piece(number, pool_.shape()));
    own_.ranges.push_back({std::ssize(own_.pieces), positions_.back() + 1});
    place.nodes.append_path(number, pool_.shape(), own_.pieces);
    if (node.place != last_place) inputs_.pieces.insert(inputs_.pieces.end(), place.input.begin(), place.input.end());
    inputs_.ranges.push_back({std::ssize(inputs_.pieces) - std::ssize(place.input), std::ssize(place.input)});
    last_place = node.place;
  }
}

template <typename T>
void RuntimeScorer<T>::self_attend(std::size_t layer, const NormParameters& next) {
  const AttentionParameters<T>& attention = weights_.decoder[layer].self_attention;
  const float* projected = rows_.project(attention.query_key_value);
  keep_in_pieces(layer, projected + width_, 3 * width_);
  const std::int64_t offset = offset_of(layer);
  rows_.attend(attention,
               RowSources<Cached>{.ranges = own_.ranges.data(),
                                  .pieces = own_.pieces.data(),
                                  .key_offset = offset,
                                  .value_offset = offset + width_,
                                  .query = projected,
                                  .query_stride = 3 * width_},
               next);
}

template <typename T>
void RuntimeScorer<T>::cross_attend(std::size_t layer, const NormParameters& next, StepResult* attention) {
  const AttentionParameters<T>& parameters = weights_.decoder[layer].cross_attention;
  const bool is_shown = attention != nullptr && static_cast<std::int64_t>(layer) == shown_.layer;
  if (is_shown) begin_weights();
  const float* query = rows_.project(parameters.query);
  const std::int64_t offset = offset_of(layer);
  rows_.attend(parameters,
               RowSources<Cached>{.ranges = inputs_.ranges.data(),
                                  .pieces = inputs_.pieces.data(),
                                  .key_offset = offset,
                                  .value_offset = offset + width_,
                                  .query = query,
                                  .query_stride = width_,
                                  .weights = is_shown ? weights_of_rows_.data() : nullptr},
               next);
  if (is_shown) write_attention(*attention);
}

template <typename T>
void RuntimeScorer<T>::begin_weights() {
  std::int64_t edges = 0;
  for (const SourceRange& range : inputs_.ranges) edges += range.count;
  shown_weights_.resize(static_cast<std::size_t>(edges * weights_.heads.padded_heads));
  weights_of_rows_.clear();
  float* next = shown_weights_.data();
  for (const SourceRange& range : inputs_.ranges) {
    weights_of_rows_.push_back(next);
    next += range.count * weights_.heads.padded_heads;
  }
}

template <typename T>
void RuntimeScorer<T>::write_attention(StepResult& result) const {
  const std::int64_t stride = weights_.heads.padded_heads;
  const std::int64_t begin = shown_.head < 0 ? 0 : shown_.head;
  const std::int64_t end = shown_.head < 0 ? weights_.heads.num_heads : begin + 1;
  result.attention.clear();
  for (std::size_t edge = 0; edge < shown_weights_.size(); edge += static_cast<std::size_t>(stride)) {
    const float* heads = shown_weights_.data() + edge;
    result.attention.push_back(std::accumulate(heads + begin, heads + end, 0.0f) / static_cast<float>(end - begin));
  }
}

template <typename T>
void RuntimeScorer<T>::decode(StepResult* attention) {
  const auto& layers = weights_.decoder;
  rows_.read_through(rows_.first_norm(layers.front().self_attention.norm));
  for (std::size_t i = 0; i < layers.size(); ++i) {
    self_attend(i, rows_.first_norm(layers[i].cross_attention.norm));
    cross_attend(i, rows_.first_norm(layers[i].feed_forward.norm), attention);
    const bool is_last = i + 1 == layers.size();
    rows_.feed_forward(layers[i].feed_forward,
                       is_last ? weights_.decoder_norm : rows_.first_norm(layers[i + 1].self_attention.norm));
  }
}

template <typename T>
void RuntimeScorer<T>::step(const StepRequest& request, StepResult& result) {
  const TimedWork timed("step");
  add_nodes(request.nodes);
  result.attention.clear();
  if (!request.nodes.empty()) {
    words_.write(weights_.words_of_output(), tokens_, positions_, "step", rows_.begin(std::ssize(tokens_)));
    decode(request.attention ? &result : nullptr);
  }
  output_.write(weights_, rows_.read(), request, result);
}

}  // namespace

template <typename T>
std::unique_ptr<Scorer> make_runtime_scorer(const Weights<T>& weights, const CrossHeads& attention) {
  return std::make_unique<RuntimeScorer<T>>(weights, attention);
}

template std::unique_ptr<Scorer> make_runtime_scorer(const Weights<float>&, const CrossHeads&);
template std::unique_ptr<Scorer> make_runtime_scorer(const Weights<BFloat16>&, const CrossHeads&);
template std::unique_ptr<Scorer> make_runtime_scorer(const Weights<std::int8_t>&, const CrossHeads&);

}  // namespace edgewise
