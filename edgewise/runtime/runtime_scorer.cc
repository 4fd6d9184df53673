// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/runtime_scorer.h"

#include "edgewise/base/profile.h"
#include "edgewise/runtime/cross_attention_recorder.h"
#include "edgewise/runtime/output_projection.h"
#include "edgewise/runtime/select_entries.h"
#include "edgewise/runtime/sublayer_runner.h"
#include "edgewise/runtime/token_embedding.h"

namespace edgewise {
namespace {

template <typename T>
class RuntimeScorer : public Scorer {
 public:
  RuntimeScorer(const Weights<T>& weights, const CrossHeads& recorded_heads)
      : weights_(weights),
        width_(weights.heads.width()),
        embedding_(weights.options),
        rows_(weights.options, weights.heads),
        cache_({.self_layers = std::ssize(weights.decoder.layers),
                .cross_layers = std::ssize(weights.decoder.layers),
                .width = weights.heads.width()}),
        recorder_(recorded_heads, weights.heads, std::ssize(weights.decoder.layers)),
        encoder_patterns_(weights.options.encoder_patterns()),
        decoder_patterns_(weights.options.decoder_patterns()),
        selected_(decoder_patterns_.size()) {}

  std::int64_t vocabulary_size() const override { return weights_.options.output_vocabulary; }

  void encode(std::span<const std::int64_t> slots, std::span<const Tokens> inputs) override {
    const ScopedTimer timer("encode");
    batch_.assign(inputs);
    run_encoder();  // first: an error must leave the slots unchanged
    cache_.add_inputs(slots, inputs);
    write_cross_attention_entries();
  }

  void step(const StepRequest& request, StepResult& result) override {
    const ScopedTimer timer("step");
    cache_.add_nodes(request.nodes);
    result.attention.clear();
    if (!request.nodes.empty()) run_decoder(request.attention ? &result : nullptr);
    output_projection_.write(weights_, rows_.input(), request, result);
  }

 private:
  void run_encoder() {
    float* states = rows_.begin(batch_.num_rows());
    embedding_.write(weights_.input_side(), batch_.tokens, batch_.positions, "encode", states);
    run_layers(rows_, weights_.encoder,
               [&](std::size_t i, const NormParameters& next) { encoder_self_attend(i, next); });
  }

  void encoder_self_attend(std::size_t layer, const NormParameters& next) {
    const AttentionParameters<T>& attention = weights_.encoder.layers[layer].self_attention;
    const float* projected = rows_.project(attention.query_key_value);
    std::vector<const float*>& entries = batch_.attended.entries;
    entries.clear();
    for (std::int64_t row = 0; row < batch_.num_rows(); ++row) entries.push_back(projected + row * 3 * width_);
    const bool has_pattern = !encoder_patterns_.is_default(layer);
    if (has_pattern) {
      select_entries(encoder_patterns_.of_layer(layer), Direction::kBoth, batch_.attended, batch_.positions,
                     encoder_selected_);
    }
    const AttendedEntries<float>& attended = has_pattern ? encoder_selected_ : batch_.attended;
    rows_.attend(attention,
                 kernels::NodeAttention<float>{.ranges = attended.ranges.data(),
                                               .sources = attended.entries.data(),
                                               .key_offset = width_,
                                               .query = projected,
                                               .query_stride = 3 * width_},
                 next);
  }

  void write_cross_attention_entries() {
    for (std::size_t layer = 0; layer < weights_.decoder.layers.size(); ++layer) {
      const float* projected = rows_.project(weights_.decoder.layers[layer].cross_attention.key_value);
      write_entries(cache_.rows(), cache_.cross_offset(static_cast<std::int64_t>(layer)), 2 * width_, projected,
                    2 * width_);
    }
  }

  void run_decoder(StepResult* recorded) {
    for (std::size_t i = 0; i < selected_.size(); ++i) {
      if (decoder_patterns_.is_default(i)) continue;
      select_entries(decoder_patterns_.of_layer(i), Direction::kCausal, cache_.ancestors(), cache_.positions(),
                     selected_[i]);
    }
    float* states = rows_.begin(std::ssize(cache_.tokens()));
    embedding_.write(weights_.output_side(), cache_.tokens(), cache_.positions(), "step", states);
    run_layers(rows_, weights_.decoder, [&](std::size_t i, const NormParameters& next) {
      decoder_self_attend(i, rows_.pre_norm(weights_.decoder.layers[i].cross_attention.norm));
      cross_attend(i, next, recorded);
    });
  }

  void decoder_self_attend(std::size_t layer, const NormParameters& next) {
    const AttentionParameters<T>& attention = weights_.decoder.layers[layer].self_attention;
    const float* projected = rows_.project(attention.query_key_value);
    const std::int64_t offset = cache_.self_offset(static_cast<std::int64_t>(layer));
    write_entries(cache_.rows(), offset, 2 * width_, projected + width_, 3 * width_);
    const AttendedEntries<CacheElement<T>>& attended =
        decoder_patterns_.is_default(layer) ? cache_.ancestors() : selected_[layer % selected_.size()];
    rows_.attend(attention,
                 kernels::NodeAttention<CacheElement<T>>{.ranges = attended.ranges.data(),
                                                         .sources = attended.entries.data(),
                                                         .key_offset = offset,
                                                         .query = projected,
                                                         .query_stride = 3 * width_},
                 next);
  }

  void cross_attend(std::size_t layer, const NormParameters& next, StepResult* recorded) {
    const AttentionParameters<T>& attention = weights_.decoder.layers[layer].cross_attention;
    const bool is_recorded = recorded != nullptr && static_cast<std::int64_t>(layer) == recorder_.layer();
    if (is_recorded) recorder_.begin(cache_.inputs().ranges);
    const float* query = rows_.project(attention.query);
    const std::int64_t offset = cache_.cross_offset(static_cast<std::int64_t>(layer));
    rows_.attend(
        attention,
        kernels::NodeAttention<CacheElement<T>>{.ranges = cache_.inputs().ranges.data(),
                                                .sources = cache_.inputs().entries.data(),
                                                .key_offset = offset,
                                                .query = query,
                                                .query_stride = width_,
                                                .weights = is_recorded ? recorder_.row_weights().data() : nullptr},
        next);
    if (is_recorded) recorder_.write(*recorded);
  }

  const Weights<T>& weights_;
  std::int64_t width_;
  TokenEmbedding embedding_;
  SublayerRunner<T> rows_;
  KvCache<CacheElement<T>> cache_;
  OutputProjection output_projection_;
  CrossAttentionRecorder recorder_;
  EncoderBatch batch_;
  RelationPatterns encoder_patterns_, decoder_patterns_;
  AttendedEntries<float> encoder_selected_;                 // sources in the current layer, if it has a pattern
  std::vector<AttendedEntries<CacheElement<T>>> selected_;  // sources in the current step, for each pattern
};

}  // namespace

template <typename T>
std::unique_ptr<Scorer> make_runtime_scorer(const Weights<T>& weights, const CrossHeads& recorded_heads) {
  check(has_encoder(weights.options.kind), "make_scorer: the model is a language model, needs one that translates");
  if (weights.options.kind == ModelKind::kUniversal) return make_universal_runtime_scorer(weights, recorded_heads);
  return std::make_unique<RuntimeScorer<T>>(weights, recorded_heads);
}

template std::unique_ptr<Scorer> make_runtime_scorer(const Weights<float>&, const CrossHeads&);
template std::unique_ptr<Scorer> make_runtime_scorer(const Weights<BFloat16>&, const CrossHeads&);
template std::unique_ptr<Scorer> make_runtime_scorer(const Weights<std::int8_t>&, const CrossHeads&);

}  // namespace edgewise
