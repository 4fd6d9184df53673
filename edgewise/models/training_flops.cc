// SPDX-License-Identifier: Apache-2.0
#include "edgewise/models/training_flops.h"

namespace edgewise {
namespace {

constexpr double kPerWeight = 6;  // 2 forward; in backward 2 for the input's gradient and 2 for the weight's
constexpr double kPerEdge = 12;   // likewise for each of the two products of attention

double edges(const Batch& batch, std::string_view relation) {
  return static_cast<double>(batch.graph.relation(relation).num_edges());
}

}  // namespace

double training_flops(const TransformerOptions& options, const Batch& batch) {
  const auto size = static_cast<double>(options.size);
  const auto inputs = static_cast<double>(batch.input_tokens.size());
  const auto outputs = static_cast<double>(batch.output_tokens.size());
  const auto encoder_layers = static_cast<double>(options.encoder_layers);
  const auto decoder_layers = static_cast<double>(options.decoder_layers);

  const double projection = size * size;
  const double feed_forward = 2 * size * static_cast<double>(options.feed_forward);
  const double encoder_layer = 4 * projection + feed_forward;
  const double decoder_layer = 6 * projection + feed_forward;  // without keys and values of the encoder's nodes
  const double generator = size * static_cast<double>(options.output_vocabulary);

  const double weights = inputs * (encoder_layers * encoder_layer + decoder_layers * 2 * projection) +
                         outputs * (decoder_layers * decoder_layer + generator);
  const double attended = encoder_layers * edges(batch, kEncoderEncoder) +
                          decoder_layers * (edges(batch, kEncoderDecoder) + edges(batch, kDecoderDecoder));
  return kPerWeight * weights + kPerEdge * attended * size;
}

}  // namespace edgewise
