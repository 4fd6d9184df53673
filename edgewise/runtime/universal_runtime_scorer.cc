// SPDX-License-Identifier: Apache-2.0
#include <utility>
#include <vector>

#include "edgewise/base/profile.h"
#include "edgewise/graph/gather.h"
#include "edgewise/runtime/cross_attention_recorder.h"
#include "edgewise/runtime/kv_cache.h"
#include "edgewise/runtime/output_projection.h"
#include "edgewise/runtime/recurrent_layer.h"
#include "edgewise/runtime/runtime_scorer.h"
#include "edgewise/runtime/token_embedding.h"

namespace edgewise {
namespace {

using kernels::SourceRange;

/// Scores with a Universal Transformer. The decoder's KV cache has a layer per step, because nodes that are added later
/// may take more steps than earlier ones. The encoder's keys and values are kept only while the encoder runs.
template <typename T>
class UniversalRuntimeScorer : public Scorer {
 public:
  UniversalRuntimeScorer(const Weights<T>& weights, const CrossHeads& recorded_heads,
                         std::shared_ptr<const Shortlist> shortlist)
      : weights_(weights),
        width_(weights.heads.width()),
        filter_input_size_(weights.encoder.convolution.is_on() ? weights.options.size : 0),
        embedding_(weights.options),
        cache_({.self_layers = weights.options.decoder_layers,
                .cross_layers = 1,
                .width = width_,
                .self_size = 2 * width_ + filter_input_size_}),
        encoder_(weights, weights.encoder, weights.options.encoder_layers, /*step_offset=*/0),
        decoder_(weights, weights.decoder, weights.options.decoder_layers, cache_.self_offset(1)),
        shortlist_(weights, std::move(shortlist)),
        recorder_(recorded_heads, weights.heads, 1) {}

  std::int64_t vocabulary_size() const override { return weights_.options.output_vocabulary; }

  void encode(std::span<const std::int64_t> slots, std::span<const Tokens> inputs) override {
    const ScopedTimer timer("encode");
    batch_.assign(inputs, weights_.options);
    run_encoder();  // first: an error must leave the slots unchanged
    cache_.add_inputs(slots, inputs);
    const float* projected = encoder_.rows().project(weights_.decoder.layers.front().cross_attention.key_value);
    write_entries(cache_.rows(), cache_.cross_offset(0), 2 * width_, projected, 2 * width_);
    if (shortlist_.is_on()) shortlist_.set_inputs(slots, inputs);
  }

  void step(const StepRequest& request, StepResult& result) override {
    const ScopedTimer timer("step");
    cache_.add_nodes(request.nodes);
    result.attention.clear();
    result.ponder_steps.clear();
    if (!request.nodes.empty()) {
      run_decoder(request.attention);
      if (request.attention) recorder_.write(result);
      result.ponder_steps = decoder_.halting().ponder_steps();
    }
    output_projection_.write(weights_, decoder_.rows().input(), request, shortlist_, result);
  }

 private:
  void allocate_encoder_entries() {
    const std::int64_t entry_size = 2 * width_ + filter_input_size_;
    float* next = encoder_buffer_.allocate(batch_.num_rows(), entry_size);
    encoder_entries_.clear();
    for (std::int64_t row = 0; row < batch_.num_rows(); ++row) encoder_entries_.push_back(next + row * entry_size);
    batch_.attended.entries.assign(encoder_entries_.begin(), encoder_entries_.end());
  }

  void run_encoder() {
    allocate_encoder_entries();
    float* states = encoder_.begin(batch_.positions, encoder_entries_, batch_.attended, batch_.mirrored);
    embedding_.write(weights_.input_side(), batch_.tokens, "encode", states);
    while (!encoder_.is_done()) {
      encoder_.begin_step(embedding_);
      encoder_.self_attend(weights_.encoder.layers.front().feed_forward.norm);
      encoder_.feed_forward();
      encoder_.end_step();
    }
    encoder_.finish(weights_.encoder.norm);
  }

  void run_decoder(bool records_attention) {
    if (records_attention) recorder_.begin(cache_.inputs().ranges);
    float* states = decoder_.begin(cache_.positions(), cache_.rows(), cache_.ancestors());
    embedding_.write(weights_.output_side(), cache_.tokens(), "step", states);
    while (!decoder_.is_done()) {
      decoder_.begin_step(embedding_);
      decoder_.self_attend(weights_.decoder.layers.front().cross_attention.norm);
      cross_attend(records_attention);
      decoder_.feed_forward();
      decoder_.end_step();
    }
    decoder_.finish(weights_.decoder.norm);
  }

  void cross_attend(bool records_attention) {
    const LayerParameters<T>& layer = weights_.decoder.layers.front();
    const std::vector<NodeIndex>& active = decoder_.halting().active();
    const std::vector<SourceRange> ranges = gather<SourceRange>(cache_.inputs().ranges, active);
    std::vector<float*> weights;
    if (records_attention) weights = recorder_.weights_of(active);
    SublayerRunner<T>& rows = decoder_.rows();
    const std::int64_t offset = cache_.cross_offset(0);
    rows.attend(layer.cross_attention,
                kernels::NodeAttention<CacheElement<T>>{.ranges = ranges.data(),
                                                        .sources = cache_.inputs().entries.data(),
                                                        .key_offset = offset,
                                                        .query = rows.project(layer.cross_attention.query),
                                                        .query_stride = weights_.heads.query_width(),
                                                        .weights = records_attention ? weights.data() : nullptr},
                rows.pre_norm(layer.feed_forward.norm));
  }

  const Weights<T>& weights_;
  std::int64_t width_;
  std::int64_t filter_input_size_;  // elements after key and value in an entry
  TokenEmbedding embedding_;
  KvCache<CacheElement<T>> cache_;
  UniversalLayer<T, float> encoder_;
  UniversalLayer<T, CacheElement<T>> decoder_;
  OutputProjection output_projection_;
  ShortlistColumns<T> shortlist_;
  CrossAttentionRecorder recorder_;

  EncoderBatch batch_;
  FloatBuffer encoder_buffer_;
  std::vector<float*> encoder_entries_;
};

}  // namespace

template <typename T>
std::unique_ptr<Scorer> make_universal_runtime_scorer(const Weights<T>& weights, const CrossHeads& recorded_heads,
                                                      std::shared_ptr<const Shortlist> shortlist) {
  return std::make_unique<UniversalRuntimeScorer<T>>(weights, recorded_heads, std::move(shortlist));
}

template std::unique_ptr<Scorer> make_universal_runtime_scorer(const Weights<float>&, const CrossHeads&,
                                                               std::shared_ptr<const Shortlist>);
template std::unique_ptr<Scorer> make_universal_runtime_scorer(const Weights<BFloat16>&, const CrossHeads&,
                                                               std::shared_ptr<const Shortlist>);
template std::unique_ptr<Scorer> make_universal_runtime_scorer(const Weights<std::int8_t>&, const CrossHeads&,
                                                               std::shared_ptr<const Shortlist>);

}  // namespace edgewise
