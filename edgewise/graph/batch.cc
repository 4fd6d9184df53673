// SPDX-License-Identifier: Apache-2.0
#include "edgewise/graph/batch.h"

#include <algorithm>
#include <string>
#include <utility>

#include "edgewise/base/error.h"
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

using Tokens = std::span<const std::int64_t>;

void append(std::vector<std::int64_t>& all, Tokens tokens) { all.insert(all.end(), tokens.begin(), tokens.end()); }

void append_positions(std::vector<std::int64_t>& positions, std::int64_t length) {
  for (std::int64_t position = 0; position < length; ++position) positions.push_back(position);
}

void append_input(Batch& batch, Tokens input) {
  append(batch.input_tokens, input);
  append_positions(batch.input_positions, std::ssize(input));
  batch.input_lengths.push_back(std::ssize(input));
}

void append_output(Batch& batch, Tokens output) {
  const std::int64_t length = std::ssize(output) - 1;
  append(batch.output_tokens, output.first(length));
  append(batch.labels, output.last(length));
  append_positions(batch.output_positions, length);
  batch.output_lengths.push_back(length);
}

/// Appends the links of a pair, whose edges of `ed` follow the `first` edges of the pairs before.
void append_links(Batch& batch, const std::vector<NodeLink>& links, PairLengths lengths, std::int64_t first) {
  for (auto link = links.begin(); link != links.end();) {
    const auto end =
        std::find_if(link, links.end(), [&](const NodeLink& other) { return other.decoder != link->decoder; });
    const float share = 1.0f / static_cast<float>(end - link);
    for (; link != end; ++link) {
      const auto [encoder, decoder] = *link;
      check(encoder >= 0 && encoder < lengths.input && decoder >= 0 && decoder < lengths.output,
            "make_batch: a pair of {} encoder and {} decoder nodes has the link {}-{}, needs nodes of the pair",
            lengths.input, lengths.output, encoder, decoder);
      batch.linked_edges.push_back({.edge = first + decoder * lengths.input + encoder, .share = share});
    }
  }
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

void BatchTokens::add_pair(std::int64_t input_nodes, std::int64_t output_nodes) {
  const auto inputs = static_cast<double>(input_nodes);
  const auto outputs = static_cast<double>(output_nodes);
  input += input_nodes;
  output += output_nodes;
  encoder_edges += inputs * inputs;
  cross_edges += inputs * outputs;
  decoder_edges += outputs * (outputs + 1) / 2;
}

std::vector<std::int64_t> mirrored_positions(const Batch& batch) {
  std::vector<std::int64_t> mirrored;
  mirrored.reserve(batch.input_positions.size());
  for (const std::int64_t length : batch.input_lengths) {
    const std::size_t first = mirrored.size();
    for (std::int64_t token = 0; token < length; ++token) {
      mirrored.push_back(batch.input_positions[first + static_cast<std::size_t>(mirrored_number(token, length))]);
    }
  }
  return mirrored;
}

Batch make_batch(std::span<const TokenPair> pairs) {
  Batch batch;
  std::vector<PairLengths> lengths;
  lengths.reserve(pairs.size());
  std::int64_t cross_edges = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto& [input, output, links] = pairs[i];
    check(!input.empty() || pairs[0].input.empty(), "make_batch: input of pairs[{}] is empty, needs at least one token",
          i);
    check(input.empty() || !pairs[0].input.empty(),
          "make_batch: input of pairs[{}] has {} tokens, needs none, as pairs[0] has none", i, input.size());
    check(output.size() >= 2,
          "make_batch: output of pairs[{}] has length {}, needs at least 2: the begin and the end token", i,
          output.size());
    append_input(batch, input);
    append_output(batch, output);
    lengths.push_back({.input = batch.input_lengths.back(), .output = batch.output_lengths.back()});
    append_links(batch, links, lengths.back(), cross_edges);
    cross_edges += lengths.back().input * lengths.back().output;
  }
  batch.graph = make_batch_graph(lengths);
  return batch;
}

Batch repeat_batch(const Batch& batch) {
  Batch both = batch;
  for (const auto values : {&Batch::input_tokens, &Batch::input_positions, &Batch::output_tokens,
                            &Batch::output_positions, &Batch::labels, &Batch::input_lengths, &Batch::output_lengths}) {
    append(both.*values, batch.*values);
  }
  std::vector<PairLengths> lengths;
  for (std::size_t i = 0; i < both.input_lengths.size(); ++i) {
    lengths.push_back({.input = both.input_lengths[i], .output = both.output_lengths[i]});
  }
  both.graph = make_batch_graph(lengths);
  const std::int64_t edges = batch.graph.relation(kEncoderDecoder).num_edges();
  for (const auto& [edge, share] : batch.linked_edges) both.linked_edges.push_back({edge + edges, share});
  return both;
}

Batch make_input_batch(std::span<const std::vector<std::int64_t>> inputs) {
  Batch batch;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    check(!inputs[i].empty(), "make_input_batch: inputs[{}] is empty, needs at least one token", i);
    append_input(batch, inputs[i]);
  }
  batch.output_lengths.assign(inputs.size(), 0);
  batch.graph = make_input_graph(batch.input_lengths);
  return batch;
}

}  // namespace edgewise
