// SPDX-License-Identifier: Apache-2.0
#include "edgewise/models/model_costs.h"

#include <algorithm>

#include "edgewise/options/relation_patterns.h"

namespace edgewise {
namespace {

std::int64_t count_attention(const TransformerOptions& options) {
  const std::int64_t size = options.size;
  const std::int64_t outputs = 2 * (size + options.key_value_size());  // all four projections
  return size * outputs + (options.attention_bias ? outputs : 0) + (options.score == ScoreKind::kAdditive ? size : 0);
}

/// Returns the number of linear layers from a state to the inner values of feed-forward: a gate is one of them.
std::int64_t count_inner_layers(const TransformerOptions& options) { return options.feed_forward_gate ? 2 : 1; }

std::int64_t count_feed_forward(const TransformerOptions& options) {
  const std::int64_t inner = count_inner_layers(options) * options.feed_forward;
  return options.size * (inner + options.feed_forward) + (options.feed_forward_bias ? inner + options.size : 0);
}

std::int64_t count_norm(const TransformerOptions& options) { return (options.has_norm_bias() ? 2 : 1) * options.size; }

/// Counts by how much the first sublayer of a decoder layer has more parameters than self-attention.
std::int64_t count_beyond_attention(const TransformerOptions& options) {
  return options.has_ssru() ? options.size * (2 * options.size + 1) - count_attention(options) : 0;
}

/// Counts the parameters of one layer with `attentions` attentions, each after or before a norm.
std::int64_t count_layer(const TransformerOptions& options, std::int64_t attentions) {
  return attentions * count_attention(options) + count_feed_forward(options) + (attentions + 1) * count_norm(options);
}

std::int64_t count_decoder_layer(const TransformerOptions& options) {
  return count_layer(options, has_encoder(options.kind) ? 2 : 1) + count_beyond_attention(options);
}

std::int64_t count_halting_unit(const TransformerOptions& options) { return count_norm(options) + options.size + 1; }

/// Counts the parameters that one side of a Universal Transformer has beside its layer.
std::int64_t count_recurrence(const TransformerOptions& options, bool is_adaptive) {
  const UniversalOptions& universal = options.universal;
  const bool has_filter = universal.transition == Transition::kSeparableConvolution;
  const std::int64_t halting = is_adaptive ? count_halting_unit(options) : 0;
  return halting + (has_filter ? universal.filter_width * options.size : 0);
}

std::int64_t count_vocabulary_layers(const TransformerOptions& options) {
  const std::int64_t input = has_encoder(options.kind) ? options.input_vocabulary * options.size : 0;
  const std::int64_t output = options.output_vocabulary * options.size;
  const std::int64_t bias = options.output_bias ? options.output_vocabulary : 0;
  switch (options.tying) {
    case Tying::kAll:
      return output + bias;
    case Tying::kOutput:
      return input + output + bias;
    case Tying::kNone:
      break;
  }
  return input + 2 * output + bias;
}

/// Counts the numbers that forward saves for one token in one layer: the inputs of the linear layers, and queries,
/// keys, values and averages of attention. An encoder token's keys and values of cross-attention are not counted. With
/// `is_rounded`, inputs in 8 bits are saved beside the inner values of feed-forward without a gate.
double count_saved(const TransformerOptions& options, std::int64_t attentions, bool is_rounded) {
  const auto size = static_cast<double>(options.size);
  // An SSRU has an input, gates, values, cells and a result, self-attention as many of its own.
  const double self_attention =
      attentions == 2 && options.has_ssru() ? 5 * size : 3 * size + 2 * static_cast<double>(options.key_value_size());
  const double cross_attention = 3 * size;
  const std::int64_t inner_tensors = options.feed_forward_gate ? 3 : 1;  // gate, inner values, their product
  const double feed_forward = size + static_cast<double>(inner_tensors * options.feed_forward);
  const double rounded = is_rounded && !options.feed_forward_gate ? static_cast<double>(options.feed_forward) : 0;
  return self_attention + feed_forward + (attentions == 2 ? cross_attention : 0) + rounded;
}

/// Returns the fewest layers, or steps of the layer, that a token passes through.
std::int64_t count_steps(const TransformerOptions& options, std::int64_t layers, bool is_adaptive) {
  return options.kind == ModelKind::kUniversal && is_adaptive ? 1 : layers;
}

/// Returns whether the edges of a side's self-attention are known without its documents: those of the term `all`.
bool has_edges(const StringLists& relation, std::string_view all) {
  return relation.size() == 1 && relation.front().size() == 1 && relation.front().front() == all;
}

/// Layers, or steps of the layer, that each token of a side passes through. The edges of a side with patterns, which
/// may be few, do not count.
struct Depths {
  explicit Depths(const TransformerOptions& model)
      : encoder(static_cast<double>(
            count_steps(model, model.num_encoder_layers(), encoder_adapts(model.universal.adaptive)))),
        decoder(
            static_cast<double>(count_steps(model, model.decoder_layers, decoder_adapts(model.universal.adaptive)))),
        encoder_self(has_edges(model.encoder_relation, "complete") ? encoder : 0),
        decoder_self(has_edges(model.relation, "causal") && !model.has_ssru() ? decoder : 0) {}

  /// Counts the edges of all layers.
  double edges(const BatchTokens& batch) const {
    return encoder_self * batch.encoder_edges + decoder * batch.cross_edges + decoder_self * batch.decoder_edges;
  }

  double encoder;
  double decoder;
  double encoder_self;
  double decoder_self;
};

constexpr double kFloatBytes = 4;

/// Returns the bytes that additive attention, which computes in fp32, saves for backward in all layers, and those of
/// the sums and products in the last layer's cross-attention.
double additive_memory(const TransformerOptions& model, const BatchTokens& batch) {
  if (model.score != ScoreKind::kAdditive) return 0;
  return kFloatBytes * static_cast<double>(model.size) * (Depths(model).edges(batch) + 2 * batch.cross_edges);
}

double activation_memory(const TransformerOptions& model, const TrainOptions& train, const BatchTokens& batch) {
  if (train.part == TrainedPart::kHalting) return 0;  // the states have no gradients
  const Depths depths(model);
  const bool is_rounded = train.quantise == ProductRounding::kInt8;
  const std::int64_t attentions = has_encoder(model.kind) ? 2 : 1;
  const double numbers =
      depths.encoder * static_cast<double>(batch.input) * count_saved(model, 1, is_rounded) +
      depths.decoder * static_cast<double>(batch.output) * count_saved(model, attentions, is_rounded);
  const double passes = train.has_two_passes() ? 2 : 1;
  const double bytes_per_number = train.precision == Precision::kBf16 ? 2 : 4;
  return passes * (bytes_per_number * numbers + additive_memory(model, batch));
}

// Floating-point operations for one weight of a matrix and one token: 2 in forward; in backward, 2 for the gradient of
// the input and 2 for the gradient of the weight.
constexpr double kFlopsPerWeight = 6;
// Floating-point operations for one edge and one component of a state: 6, as above, for each of the two matrix products
// of attention.
constexpr double kFlopsPerComponent = 12;

/// Counts the edges of self-attention in all layers of a side. `relation` is that of layers without a pattern.
double count_self_edges(const RelationPatterns& patterns, std::int64_t layers, const Relation& relation,
                        std::span<const std::int64_t> lengths) {
  double edges = 0;
  const auto period = static_cast<std::int64_t>(patterns.size());
  for (std::int64_t first = 0; first < std::min(period, layers); ++first) {
    const auto layer = static_cast<std::size_t>(first);
    EdgeIndex edges_of_layer = patterns.is_default(layer) ? relation.num_edges() : 0;
    if (!patterns.is_default(layer)) {
      for (const std::int64_t length : lengths) {
        edges_of_layer += count_edges(patterns.of_layer(layer), patterns.direction(), length);
      }
    }
    const std::int64_t layers_like_it = (layers - first + period - 1) / period;
    edges += static_cast<double>(layers_like_it * edges_of_layer);
  }
  return edges;
}

}  // namespace

std::int64_t count_parameters(const TransformerOptions& options) {
  const std::int64_t sides = has_encoder(options.kind) ? 2 : 1;
  const std::int64_t encoder_layer = count_layer(options, 1);
  const std::int64_t decoder_layer = count_decoder_layer(options);
  const std::int64_t norms = options.final_norm ? sides * count_norm(options) : 0;
  const std::int64_t buckets = options.positions == PositionKind::kT5 ? options.t5_buckets * options.heads : 0;
  const std::int64_t tables = sides + (options.cross_distance ? 1 : 0);
  const std::int64_t positions = sides * options.num_learned_positions() * options.size + tables * buckets;
  const std::int64_t exits = std::ssize(options.exits.layers) * count_halting_unit(options);
  const std::int64_t around = count_vocabulary_layers(options) + positions + norms + exits;
  if (options.kind == ModelKind::kUniversal) {
    const AdaptiveSides adaptive = options.universal.adaptive;
    return around + encoder_layer + decoder_layer + count_recurrence(options, encoder_adapts(adaptive)) +
           count_recurrence(options, decoder_adapts(adaptive));
  }
  return around + options.num_own_layers(options.num_encoder_layers()) * encoder_layer +
         options.num_own_layers(options.decoder_layers) * decoder_layer;
}

double training_memory(const TransformerOptions& model, const TrainOptions& train, const BatchTokens& batch,
                       const TrainingProcess& process) {
  const int divided = train.average > 0 ? 3 : 2;         // two moments, averages
  const int snapshot = process.saves ? 1 + divided : 0;  // with the parameters
  const int rounded = train.quantise == ProductRounding::kInt8 ? 1 : 0;
  const double copies = 2 + rounded + static_cast<double>(divided) / static_cast<double>(process.processes) + snapshot;
  return kFloatBytes * copies * static_cast<double>(count_parameters(model)) + activation_memory(model, train, batch);
}

double edge_memory(const TransformerOptions& model, const BatchTokens& batch) {
  if (model.score != ScoreKind::kAdditive) return 0;
  const double edges = std::max({has_edges(model.encoder_relation, "complete") ? batch.encoder_edges : 0,
                                 batch.cross_edges, Depths(model).decoder_self > 0 ? batch.decoder_edges : 0});
  return 3 * kFloatBytes * static_cast<double>(model.size) * edges;
}

double attention_map_memory(const TransformerOptions& model, const BatchTokens& pair) {
  return 2 * kFloatBytes * static_cast<double>(model.heads) * Depths(model).edges(pair);
}

double training_flops(const TransformerOptions& options, const Batch& batch) {
  const auto size = static_cast<double>(options.size);
  const auto inputs = static_cast<double>(batch.input_tokens.size());
  const auto outputs = static_cast<double>(batch.output_tokens.size());
  const auto encoder_layers = static_cast<double>(options.num_encoder_layers());
  const auto decoder_layers = static_cast<double>(options.decoder_layers);
  const double cross_attention = has_encoder(options.kind) ? 2 : 0;  // projections of decoder nodes

  // Numbers of weights.
  const double projection = size * size;
  const double feed_forward = size * static_cast<double>((1 + count_inner_layers(options)) * options.feed_forward);
  const double key_and_value = 2 * size * static_cast<double>(options.key_value_size());
  const double per_encoder_node = 2 * projection + key_and_value + feed_forward;
  // Cross-attention's keys and values count per input.
  const double mixer = options.has_ssru() ? 2 * projection : 2 * projection + key_and_value;
  const double per_decoder_node = mixer + cross_attention * projection + feed_forward;
  const auto depths = static_cast<double>(1 + options.exits.layers.size());
  const double output_projection = depths * size * static_cast<double>(options.output_vocabulary);

  // Sums over all tokens of the weights that multiply a token, and over all edges of the layers that use an edge.
  const double weights = inputs * (encoder_layers * per_encoder_node + decoder_layers * key_and_value) +
                         outputs * (decoder_layers * per_decoder_node + output_projection);
  const double attention_edges =
      count_self_edges(options.encoder_patterns(), options.num_encoder_layers(), batch.graph.relation(kEncoderEncoder),
                       batch.input_lengths) +
      (options.has_ssru() ? 0
                          : count_self_edges(options.decoder_patterns(), options.decoder_layers,
                                             batch.graph.relation(kDecoderDecoder), batch.output_lengths)) +
      decoder_layers * static_cast<double>(batch.graph.relation(kEncoderDecoder).num_edges());
  return kFlopsPerWeight * weights + kFlopsPerComponent * attention_edges * size;
}

std::vector<PatternCost> pattern_costs(const TransformerOptions& options, std::int64_t length) {
  std::vector<PatternCost> costs;
  const bool has_decoder_pattern = !options.has_ssru() && !options.decoder_patterns().is_default();
  if (options.encoder_patterns().is_default() && !has_decoder_pattern) return costs;
  const auto add_side = [&](const RelationPatterns& patterns, std::int64_t layers, std::int64_t weights) {
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      const auto period = static_cast<std::int64_t>(patterns.size());
      if (layer >= period) {
        (costs.end() - std::min(period, layers) + layer % period)->layers.push_back(layer);
        continue;
      }
      const RelationTerms& terms = patterns.of_layer(static_cast<std::size_t>(layer));
      const auto edges = static_cast<double>(count_edges(terms, patterns.direction(), length));
      const double per_token = edges / static_cast<double>(length);
      const double multiply_adds = 2 * per_token * static_cast<double>(options.size);
      costs.push_back({.direction = patterns.direction(),
                       .terms = format_terms(terms),
                       .layers = {layer},
                       .edges_per_token = per_token,
                       .share = multiply_adds / static_cast<double>(weights)});
    }
  };
  add_side(options.encoder_patterns(), options.num_encoder_layers(), count_layer(options, 1));
  if (!options.has_ssru()) add_side(options.decoder_patterns(), options.decoder_layers, count_decoder_layer(options));
  return costs;
}

}  // namespace edgewise
