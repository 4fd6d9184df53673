// SPDX-License-Identifier: Apache-2.0
#include "edgewise/models/training_flops.h"

namespace edgewise {
namespace {

// Floating-point operations for one weight of a matrix and one token: 2 in forward; in backward, 2 for the gradient of
// the input and 2 for the gradient of the weight.
constexpr double kFlopsPerWeight = 6;
// Floating-point operations for one edge and one component of a state: 6, as above, for each of the two matrix products
// of attention.
constexpr double kFlopsPerComponent = 12;

double num_edges(const Batch& batch, std::string_view relation) {
  return static_cast<double>(batch.graph.relation(relation).num_edges());
}

}  // namespace

double training_flops(const TransformerOptions& options, const Batch& batch) {
  const auto size = static_cast<double>(options.size);
  const auto inputs = static_cast<double>(batch.input_tokens.size());
  const auto outputs = static_cast<double>(batch.output_tokens.size());
  const auto encoder_layers = static_cast<double>(options.encoder_layers);
  const auto decoder_layers = static_cast<double>(options.decoder_layers);

  // Numbers of weights.
  const double projection = size * size;
  const double feed_forward = 2 * size * static_cast<double>(options.feed_forward);
  const double per_encoder_node = 4 * projection + feed_forward;
  const double per_decoder_node = 6 * projection + feed_forward;  // cross-attention's keys and values count per input
  const double output_projection = size * static_cast<double>(options.output_vocabulary);

  // Sums over all tokens of the weights that multiply a token, and over all edges of the layers that use an edge.
  const double weights = inputs * (encoder_layers * per_encoder_node + decoder_layers * 2 * projection) +
                         outputs * (decoder_layers * per_decoder_node + output_projection);
  const double attention_edges =
      encoder_layers * num_edges(batch, kEncoderEncoder) +
      decoder_layers * (num_edges(batch, kEncoderDecoder) + num_edges(batch, kDecoderDecoder));
  return kFlopsPerWeight * weights + kFlopsPerComponent * attention_edges * size;
}

}  // namespace edgewise
