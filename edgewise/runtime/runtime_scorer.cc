// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/runtime_scorer.h"

#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/profile.h"
#include "edgewise/graph/gather.h"
#include "edgewise/runtime/cross_attention_recorder.h"
#include "edgewise/runtime/exit_rows.h"
#include "edgewise/runtime/output_projection.h"
#include "edgewise/runtime/row_positions.h"
#include "edgewise/runtime/select_entries.h"
#include "edgewise/runtime/sublayer_runner.h"
#include "edgewise/runtime/token_embedding.h"

namespace edgewise {
namespace {

/// Scores with a Transformer, or with a language model, which has a decoder without cross-attention. E is the type of
/// cached keys and values.
template <typename T, typename E>
class RuntimeScorer : public Scorer {
 public:
  RuntimeScorer(const Weights<T>& weights, const CrossHeads& recorded_heads, std::shared_ptr<const Shortlist> shortlist)
      : weights_(weights),
        heads_(weights.heads),
        embedding_(weights.options),
        encoder_positions_(weights.options, weights.heads, weights.encoder.position_bias, /*is_causal=*/false),
        decoder_positions_(weights.options, weights.heads, weights.decoder.position_bias, /*is_causal=*/true),
        cross_positions_(weights.options, weights.heads, weights.decoder.cross_bias, /*is_causal=*/false),
        rows_(weights.options, weights.heads),
        cache_({.self_layers = std::ssize(weights.decoder.layers),
                .cross_layers = has_encoder(weights.options.kind) ? std::ssize(weights.decoder.layers) : 0,
                .width = weights.heads.width(),
                .self_size = weights.options.has_ssru() ? cell_size(weights.options) : 0,
                .relations = weights.options.decoder_patterns().patterns()}),
        shortlist_(weights, std::move(shortlist)),
        recorder_(recorded_heads, weights.heads, std::ssize(weights.decoder.layers)),
        exits_(weights.options, weights.decoder.exits),
        encoder_patterns_(weights.options.encoder_patterns()) {}

  std::int64_t vocabulary_size() const override { return weights_.options.output_vocabulary; }

  void encode(std::span<const std::int64_t> slots, std::span<const Tokens> inputs) override {
    const ScopedTimer timer("encode");
    if (!has_cross_attention()) return begin_texts(slots, inputs);
    batch_.assign(inputs, weights_.options);
    run_encoder();  // first: an error must leave the slots unchanged
    cache_.add_inputs(slots, inputs);
    write_cross_attention_entries();
    if (shortlist_.is_on()) shortlist_.set_inputs(slots, inputs);
  }

  void step(const StepRequest& request, StepResult& result) override {
    const ScopedTimer timer("step");
    check(has_cross_attention() || !request.attention,
          "step: the request asks for cross-attention, needs a model that has it; a language model has none");
    cache_.add_nodes(request.nodes);
    result.attention.clear();
    result.ponder_steps.clear();
    if (!request.nodes.empty()) {
      run_decoder(request.attention ? &result : nullptr, "step");
      if (exits_.are_on()) result.ponder_steps = exits_.layers();
    }
    const Activations<T>& states = rows_.input_of(weights_.output_projection.front());
    output_projection_.write(weights_, states, request, shortlist_, result);
  }

 private:
  // The tokens of beginnings of texts that are computed at a time: enough for fast products, few enough that their
  // states and projections, a few megabytes, stay in a cache.
  static constexpr std::size_t kBlockTokens = 256;

  /// Returns the elements of a cell, which is float in each precision: it sums over all tokens, and takes no bandwidth.
  static std::int64_t cell_size(const TransformerOptions& options) {
    const auto bytes = options.size * static_cast<std::int64_t>(sizeof(float));
    return bytes / static_cast<std::int64_t>(sizeof(E));
  }

  bool has_cross_attention() const { return has_encoder(weights_.options.kind); }

  /// Adds the beginnings of texts as nodes. Checks all of them first: an error must leave the slots unchanged.
  void begin_texts(std::span<const std::int64_t> slots, std::span<const Tokens> inputs) {
    check_encoder_slots(slots, inputs);
    for (const Tokens& input : inputs) {
      check_tokens(input, vocabulary_size(), "encode");
      if (!input.empty() && weights_.options.num_learned_positions() > 0) {
        check_learned_position(std::ssize(input) - 1, weights_.options.max_positions, "encode");
      }
    }
    cache_.clear_slots(slots);
    std::vector<NewNode> block;
    const auto add_block = [&] {
      cache_.add_nodes(block);
      run_decoder(nullptr, "encode");
      block.clear();
    };
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      NodeIndex parent = HypothesisTree::kRoot;
      for (const std::int64_t token : inputs[i]) {
        block.push_back({slots[i], parent++, token});
        if (block.size() == kBlockTokens) add_block();
      }
    }
    if (!block.empty()) add_block();
  }

  void run_encoder() {
    float* states = rows_.begin(batch_.num_rows());
    embedding_.write(weights_.input_side(), batch_.tokens, batch_.positions, "encode", states, batch_.mirrored);
    encoder_positions_.begin(batch_.positions);
    run_layers(rows_, weights_.encoder,
               [&](std::size_t i, const NormParameters& next) { encoder_self_attend(i, next); });
  }

  void encoder_self_attend(std::size_t layer, const NormParameters& next) {
    const AttentionParameters<T>& attention = weights_.encoder.layers[layer].self_attention;
    float* projected = rows_.project(attention.query_key_value);
    encoder_positions_.rotate(projected);
    std::vector<const float*>& entries = batch_.attended.entries;
    entries.clear();
    const std::int64_t stride = heads_.projected_width();
    for (std::int64_t row = 0; row < batch_.num_rows(); ++row) entries.push_back(projected + row * stride);
    const bool has_pattern = !encoder_patterns_.is_default(layer);
    if (has_pattern) select_entries(encoder_patterns_.of_layer(layer), batch_, selected_);
    const AttendedEntries<float>& attended = has_pattern ? selected_ : batch_.attended;
    kernels::NodeAttention<float> arguments = {.ranges = attended.ranges.data(),
                                               .sources = attended.entries.data(),
                                               .key_offset = heads_.query_width(),
                                               .query = projected,
                                               .query_stride = stride};
    if (has_pattern) arguments.source_positions = selected_.positions.data();
    encoder_positions_.add_bias(arguments);
    rows_.attend(attention, arguments, next);
  }

  void write_cross_attention_entries() {
    for (std::size_t layer = 0; layer < weights_.decoder.layers.size(); ++layer) {
      const float* projected = rows_.project(weights_.decoder.layers[layer].cross_attention.key_value);
      write_entries(cache_.rows(), cache_.cross_offset(static_cast<std::int64_t>(layer)), 2 * heads_.width(), projected,
                    2 * heads_.width());
    }
  }

  void run_decoder(StepResult* recorded, const char* caller) {
    float* states = rows_.begin(std::ssize(cache_.tokens()));
    embedding_.write(weights_.output_side(), cache_.tokens(), cache_.positions(), caller, states);
    begin_positions(cache_.positions());
    if (weights_.options.cross_distance && weights_.options.mirror_positions) mirror_inputs();
    if (exits_.are_on()) return run_layers_with_exits(recorded);
    run_layers(rows_, weights_.decoder, [&](std::size_t i, const NormParameters& next) {
      if (!has_cross_attention()) return decoder_self_attend(i, next);
      const NormParameters& cross_norm = rows_.pre_norm(weights_.decoder.layers[i].cross_attention.norm);
      weights_.options.has_ssru() ? recur(i, cross_norm) : decoder_self_attend(i, cross_norm);
      const bool is_recorded = recorded != nullptr && static_cast<std::int64_t>(i) == recorder_.layer();
      if (is_recorded) recorder_.begin(cache_.inputs().ranges);
      cross_attend(i, next, cache_.inputs().ranges.data(), is_recorded ? recorder_.row_weights().data() : nullptr);
      if (is_recorded) recorder_.write(*recorded);
    });
  }

  void begin_positions(std::span<const std::int64_t> positions) {
    decoder_positions_.begin(positions);
    if (weights_.options.cross_distance) cross_positions_.begin(positions);
  }

  /// Writes the places of the inputs' entries in the mirrored inputs.
  void mirror_inputs() {
    mirrored_places_.resize(cache_.inputs().entries.size());
    for (const auto& [begin, count] : cache_.inputs().ranges) {
      for (std::int64_t token = 0; token < count; ++token) {
        mirrored_places_[static_cast<std::size_t>(begin + token)] =
            static_cast<std::int32_t>(mirrored_number(token, count));
      }
    }
  }

  /// Runs the decoder's layers for rows that may halt at exits. Each layer norms the states itself, whether rows halt
  /// or not, so that a row has the same bits in any batch. The recorded weights are those of the recorded layer, or of
  /// a row's last layer before it.
  void run_layers_with_exits(StepResult* recorded) {
    if (recorded != nullptr) recorder_.begin(cache_.inputs().ranges);
    exits_.begin(cache_.positions(), cache_.inputs().ranges);
    for (std::size_t i = 0; i < weights_.decoder.layers.size(); ++i) {
      const LayerParameters<T>& layer = weights_.decoder.layers[i];
      rows_.compute_first(exits_.num_rows());
      rows_.prepare_input(rows_.pre_norm(layer.self_attention.norm));
      const NormParameters& cross_norm = rows_.pre_norm(layer.cross_attention.norm);
      const bool has_queries = weights_.options.has_separate_queries(static_cast<std::int64_t>(i));
      has_queries ? self_attend_active(i, cross_norm) : decoder_self_attend(i, cross_norm);
      if (exits_.num_active() == 0) continue;
      const bool is_recorded = recorded != nullptr && static_cast<std::int64_t>(i) <= recorder_.layer();
      cross_attend_active(i, rows_.pre_norm(layer.feed_forward.norm), is_recorded);
      rows_.feed_forward(layer.feed_forward, kNoNorm);
      if (!exits_.end_layer(i, rows_.state())) continue;
      rows_.reorder_rows(exits_.moved());
      begin_positions(exits_.positions());
    }
    rows_.reorder_rows(exits_.places());
    rows_.prepare_input(weights_.decoder.norm);
    if (recorded != nullptr) recorder_.write(*recorded);
  }

  /// Writes keys and values of all rows, and runs self-attention of the active ones.
  void self_attend_active(std::size_t layer, const NormParameters& next) {
    const AttentionParameters<T>& attention = weights_.decoder.layers[layer].self_attention;
    float* keys_and_values = rows_.project(attention.key_value);
    decoder_positions_.rotate_keys(keys_and_values);
    const std::int64_t offset = cache_.self_offset(static_cast<std::int64_t>(layer));
    write_entries<E>(gather<E*>(cache_.rows(), exits_.order()), offset, 2 * heads_.width(), keys_and_values,
                     2 * heads_.width());
    if (exits_.num_active() == 0) return;
    rows_.compute_first(exits_.num_active());
    float* queries = rows_.project(attention.query);
    decoder_positions_.rotate_queries(exits_.num_active(), queries);
    const AttendedEntries<E>& ancestors = cache_.ancestors(layer);
    const std::vector<kernels::SourceRange> ranges = gather<kernels::SourceRange>(ancestors.ranges, exits_.active());
    kernels::NodeAttention<E> arguments = {.ranges = ranges.data(),
                                           .sources = ancestors.entries.data(),
                                           .key_offset = offset,
                                           .query = queries,
                                           .query_stride = heads_.query_width()};
    if (!ancestors.positions.empty()) arguments.source_positions = ancestors.positions.data();
    decoder_positions_.add_bias(arguments);
    rows_.attend(attention, arguments, next);
  }

  void cross_attend_active(std::size_t layer, const NormParameters& next, bool is_recorded) {
    const std::vector<kernels::SourceRange> ranges =
        gather<kernels::SourceRange>(cache_.inputs().ranges, exits_.active());
    std::vector<float*> weights;
    if (is_recorded) weights = recorder_.weights_of(exits_.active());
    cross_attend(layer, next, ranges.data(), is_recorded ? weights.data() : nullptr);
  }

  void decoder_self_attend(std::size_t layer, const NormParameters& next) {
    const AttentionParameters<T>& attention = weights_.decoder.layers[layer].self_attention;
    float* projected = rows_.project(attention.query_key_value);
    decoder_positions_.rotate(projected);
    const std::int64_t offset = cache_.self_offset(static_cast<std::int64_t>(layer));
    write_entries(cache_.rows(), offset, 2 * heads_.width(), projected + heads_.query_width(),
                  heads_.projected_width());
    const AttendedEntries<E>& ancestors = cache_.ancestors(layer);
    kernels::NodeAttention<E> arguments = {.ranges = ancestors.ranges.data(),
                                           .sources = ancestors.entries.data(),
                                           .key_offset = offset,
                                           .query = projected,
                                           .query_stride = heads_.projected_width()};
    if (!ancestors.positions.empty()) arguments.source_positions = ancestors.positions.data();
    decoder_positions_.add_bias(arguments);
    rows_.attend(attention, arguments, next);
  }

  /// Runs an SSRU: the entry of a node is its cell, and the entries that it reads are its parent's, if any, and its
  /// own.
  void recur(std::size_t layer, const NormParameters& next) {
    const std::int64_t offset = cache_.self_offset(static_cast<std::int64_t>(layer));
    const AttendedEntries<E>& path = cache_.ancestors(layer);
    cells_before_.clear();
    cells_.clear();
    for (std::size_t row = 0; row < path.ranges.size(); ++row) {
      const auto& [begin, count] = path.ranges[row];
      const auto* parent = count > 1 ? path.entries[static_cast<std::size_t>(begin)] + offset : nullptr;
      cells_before_.push_back(reinterpret_cast<const float*>(parent));
      cells_.push_back(reinterpret_cast<float*>(cache_.rows()[row] + offset));
    }
    const LayerParameters<T>& parameters = weights_.decoder.layers[layer];
    rows_.recur(parameters.ssru, parameters.self_attention.norm, cells_before_, cells_, next);
  }

  /// `ranges` are those of the rows in the inputs' entries. Writes attention weights to `recorded` unless it is null.
  void cross_attend(std::size_t layer, const NormParameters& next, const kernels::SourceRange* ranges,
                    float* const* recorded) {
    const AttentionParameters<T>& attention = weights_.decoder.layers[layer].cross_attention;
    const float* query = rows_.project(attention.query);
    const std::int64_t offset = cache_.cross_offset(static_cast<std::int64_t>(layer));
    kernels::NodeAttention<E> arguments = {.ranges = ranges,
                                           .sources = cache_.inputs().entries.data(),
                                           .key_offset = offset,
                                           .query = query,
                                           .query_stride = heads_.query_width(),
                                           .weights = recorded};
    if (weights_.options.cross_distance) {
      if (weights_.options.mirror_positions) arguments.source_positions = mirrored_places_.data();
      cross_positions_.add_bias(arguments);
    }
    rows_.attend(attention, arguments, next);
  }

  const Weights<T>& weights_;
  const HeadLayout& heads_;
  TokenEmbedding embedding_;
  RowPositions encoder_positions_, decoder_positions_, cross_positions_;
  SublayerRunner<T> rows_;
  KvCache<E> cache_;
  OutputProjection output_projection_;
  ShortlistColumns<T> shortlist_;
  CrossAttentionRecorder recorder_;
  ExitRows exits_;
  EncoderBatch batch_;
  RelationPatterns encoder_patterns_;
  std::vector<const float*> cells_before_;  // the cells before the rows, and those of the rows, in a layer's SSRU
  std::vector<float*> cells_;
  std::vector<std::int32_t> mirrored_places_;  // [entries of inputs], with mirror_positions and cross_distance
  AttendedEntries<float> selected_;            // sources in the current layer of the encoder, if it has a pattern
};

}  // namespace

template <typename T>
std::unique_ptr<Scorer> make_runtime_scorer(const Weights<T>& weights, const CrossHeads& recorded_heads,
                                            std::shared_ptr<const Shortlist> shortlist) {
  if (weights.options.kind == ModelKind::kUniversal) {
    return make_universal_runtime_scorer(weights, recorded_heads, std::move(shortlist));
  }
  if constexpr (kIsInt8<T>) {
    // A model whose inputs have stored multipliers was tuned for the keys and values that its products give.
    if (weights.output_projection.front().input_multiplier() > 0) {
      return std::make_unique<RuntimeScorer<T, float>>(weights, recorded_heads, std::move(shortlist));
    }
  }
  return std::make_unique<RuntimeScorer<T, CacheElement<T>>>(weights, recorded_heads, std::move(shortlist));
}

template std::unique_ptr<Scorer> make_runtime_scorer(const Weights<float>&, const CrossHeads&,
                                                     std::shared_ptr<const Shortlist>);
template std::unique_ptr<Scorer> make_runtime_scorer(const Weights<BFloat16>&, const CrossHeads&,
                                                     std::shared_ptr<const Shortlist>);
template std::unique_ptr<Scorer> make_runtime_scorer(const Weights<std::int8_t>&, const CrossHeads&,
                                                     std::shared_ptr<const Shortlist>);

}  // namespace edgewise
