// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/runtime_scorer.h"

#include <type_traits>
#include <vector>

#include "edgewise/base/profile.h"
#include "edgewise/runtime/decoding_memory.h"
#include "edgewise/runtime/layer_rows.h"
#include "edgewise/runtime/shown_attention.h"
#include "edgewise/runtime/universal_scorer.h"
#include "edgewise/runtime/vocabulary_output.h"
#include "edgewise/runtime/word_vectors.h"

namespace edgewise {
namespace {

using kernels::SourceRange;

template <typename T>
class RuntimeScorer : public Scorer {
 public:
  RuntimeScorer(const Weights<T>& weights, const CrossHeads& attention);

  std::int64_t vocabulary_size() const override { return weights_.options.output_vocabulary; }
  void read(std::span<const std::int64_t> places, std::span<const Tokens> inputs) override;
  void step(const StepRequest& request, StepResult& result) override;

 private:
  void encode(std::span<const Tokens> inputs);
  void keep_inputs();
  void decode(StepResult* attention);
  void self_attend(std::size_t layer, const NormParameters& next);
  void cross_attend(std::size_t layer, const NormParameters& next, StepResult* attention);

  const Weights<T>& weights_;
  std::int64_t width_;
  WordVectors words_;
  LayerRows<T> rows_;
  VocabularyOutput output_;
  ShownAttention shown_;
  DecodingMemory<Cached<T>> memory_;
  std::vector<std::int64_t> tokens_, positions_;  // of inputs
  Sources<float> read_;                           // whom they see
};

template <typename T>
RuntimeScorer<T>::RuntimeScorer(const Weights<T>& weights, const CrossHeads& attention)
    : weights_(weights),
      width_(weights.heads.width()),
      words_(weights.options),
      rows_(weights.options, weights.heads),
      shown_(attention, weights.heads, std::ssize(weights.decoder)),
      memory_({std::ssize(weights.decoder), std::ssize(weights.decoder), weights.heads.width()}) {}

template <typename T>
void RuntimeScorer<T>::read(std::span<const std::int64_t> places, std::span<const Tokens> inputs) {
  const TimedWork timed("read");
  encode(inputs);  // first: what it throws leaves the places as they are
  memory_.read(places, inputs);
  keep_inputs();
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

// What was encoded becomes the places' keys and values.
template <typename T>
void RuntimeScorer<T>::keep_inputs() {
  for (std::size_t layer = 0; layer < weights_.decoder.size(); ++layer) {
    const float* projected = rows_.project(weights_.decoder[layer].cross_attention.key_value);
    write_pieces(memory_.rows(), memory_.input_offset(static_cast<std::int64_t>(layer)), 2 * width_, projected,
                 2 * width_);
  }
}

template <typename T>
void RuntimeScorer<T>::self_attend(std::size_t layer, const NormParameters& next) {
  const AttentionParameters<T>& attention = weights_.decoder[layer].self_attention;
  const float* projected = rows_.project(attention.query_key_value);
  const std::int64_t offset = memory_.node_offset(static_cast<std::int64_t>(layer));
  write_pieces(memory_.rows(), offset, 2 * width_, projected + width_, 3 * width_);
  rows_.attend(attention,
               RowSources<Cached<T>>{.ranges = memory_.ancestors().ranges.data(),
                                     .pieces = memory_.ancestors().pieces.data(),
                                     .key_offset = offset,
                                     .value_offset = offset + width_,
                                     .query = projected,
                                     .query_stride = 3 * width_},
               next);
}

template <typename T>
void RuntimeScorer<T>::cross_attend(std::size_t layer, const NormParameters& next, StepResult* attention) {
  const AttentionParameters<T>& parameters = weights_.decoder[layer].cross_attention;
  const bool is_shown = attention != nullptr && static_cast<std::int64_t>(layer) == shown_.layer();
  if (is_shown) shown_.begin(memory_.inputs().ranges);
  const float* query = rows_.project(parameters.query);
  const std::int64_t offset = memory_.input_offset(static_cast<std::int64_t>(layer));
  rows_.attend(parameters,
               RowSources<Cached<T>>{.ranges = memory_.inputs().ranges.data(),
                                     .pieces = memory_.inputs().pieces.data(),
                                     .key_offset = offset,
                                     .value_offset = offset + width_,
                                     .query = query,
                                     .query_stride = width_,
                                     .weights = is_shown ? shown_.of_rows().data() : nullptr},
               next);
  if (is_shown) shown_.write(*attention);
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
  memory_.add(request.nodes);
  result.attention.clear();
  if (!request.nodes.empty()) {
    words_.write(weights_.words_of_output(), memory_.tokens(), memory_.positions(), "step",
                 rows_.begin(std::ssize(memory_.tokens())));
    decode(request.attention ? &result : nullptr);
  }
  output_.write(weights_, rows_.read(), request, result);
}

}  // namespace

template <typename T>
std::unique_ptr<Scorer> make_runtime_scorer(const Weights<T>& weights, const CrossHeads& attention) {
  if (weights.options.kind == ModelKind::kUniversal) return make_universal_scorer(weights, attention);
  return std::make_unique<RuntimeScorer<T>>(weights, attention);
}

template std::unique_ptr<Scorer> make_runtime_scorer(const Weights<float>&, const CrossHeads&);
template std::unique_ptr<Scorer> make_runtime_scorer(const Weights<BFloat16>&, const CrossHeads&);
template std::unique_ptr<Scorer> make_runtime_scorer(const Weights<std::int8_t>&, const CrossHeads&);

}  // namespace edgewise
