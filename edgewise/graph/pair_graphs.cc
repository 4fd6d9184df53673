// SPDX-License-Identifier: Apache-2.0
#include "edgewise/graph/pair_graphs.h"

#include <string>
#include <utility>
#include <vector>

#include "edgewise/graph/node_count.h"

namespace edgewise {
namespace {

/// The rows of the three relations of a batch.
struct BatchRows {
  std::vector<Interval> encoder_encoder;
  std::vector<Interval> encoder_decoder;
  std::vector<Interval> decoder_decoder;

  /// Appends the rows of a pair, whose nodes follow those of the pairs before.
  void append(PairLengths lengths) {
    const auto first_input = static_cast<NodeIndex>(encoder_encoder.size());
    const auto first_output = static_cast<NodeIndex>(decoder_decoder.size());
    const Interval inputs = {.begin = first_input, .end = first_input + static_cast<NodeIndex>(lengths.input)};
    encoder_encoder.insert(encoder_encoder.end(), static_cast<std::size_t>(lengths.input), inputs);
    encoder_decoder.insert(encoder_decoder.end(), static_cast<std::size_t>(lengths.output), inputs);
    for (NodeIndex i = 1; i <= lengths.output; ++i) decoder_decoder.push_back({first_output, first_output + i});
  }
};

PairLengths sum_lengths(std::span<const PairLengths> lengths) {
  PairLengths sum;
  for (const PairLengths& pair : lengths) {
    check_node_count(pair.input, "make_batch_graph: length of an input");
    check_node_count(pair.output, "make_batch_graph: length of an output");
    sum.input += pair.input;
    sum.output += pair.output;
    check_node_count(sum.input + sum.output, "make_batch_graph: the number of nodes of all pairs");
  }
  return sum;
}

}  // namespace

Graph make_pair_graph(PairLengths lengths) { return make_batch_graph(std::span(&lengths, 1)); }

Graph make_batch_graph(std::span<const PairLengths> lengths) {
  const PairLengths sum = sum_lengths(lengths);
  BatchRows rows;
  rows.encoder_encoder.reserve(static_cast<std::size_t>(sum.input));
  rows.encoder_decoder.reserve(static_cast<std::size_t>(sum.output));
  rows.decoder_decoder.reserve(static_cast<std::size_t>(sum.output));
  std::vector<std::int64_t> part_sizes;
  part_sizes.reserve(2 * lengths.size());
  for (const PairLengths& pair : lengths) {
    rows.append(pair);
    part_sizes.insert(part_sizes.end(), {pair.input, pair.output});
  }

  const std::string encoder(kEncoder);
  const std::string decoder(kDecoder);
  return Graph::from_parts({{encoder, sum.input}, {decoder, sum.output}},
                           {{std::string(kEncoderEncoder), encoder, encoder,
                             Relation::from_intervals(sum.input, std::move(rows.encoder_encoder))},
                            {std::string(kEncoderDecoder), encoder, decoder,
                             Relation::from_intervals(sum.input, std::move(rows.encoder_decoder))},
                            {std::string(kDecoderDecoder), decoder, decoder,
                             Relation::from_intervals(sum.output, std::move(rows.decoder_decoder))}},
                           std::move(part_sizes));
}

Graph make_input_graph(std::span<const std::int64_t> input_lengths) {
  std::vector<PairLengths> lengths;
  lengths.reserve(input_lengths.size());
  for (const std::int64_t length : input_lengths) lengths.push_back({.input = length, .output = 0});
  return make_batch_graph(lengths);
}

}  // namespace edgewise
