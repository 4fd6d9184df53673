// SPDX-License-Identifier: Apache-2.0
#include "edgewise/graph/batch.h"

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

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

}  // namespace

void BatchTokens::add_pair(std::int64_t input_nodes, std::int64_t output_nodes) {
  const auto inputs = static_cast<double>(input_nodes);
  const auto outputs = static_cast<double>(output_nodes);
  input += input_nodes;
  output += output_nodes;
  encoder_edges += inputs * inputs;
  cross_edges += inputs * outputs;
  decoder_edges += outputs * (outputs + 1) / 2;
}

Batch make_batch(std::span<const TokenPair> pairs) {
  Batch batch;
  std::vector<PairLengths> lengths;
  lengths.reserve(pairs.size());
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto& [input, output] = pairs[i];
    check(!input.empty(), "make_batch: input of pairs[{}] is empty, needs at least one token", i);
    check(output.size() >= 2,
          "make_batch: output of pairs[{}] has length {}, needs at least 2: the begin and the end token", i,
          output.size());
    append_input(batch, input);
    append_output(batch, output);
    lengths.push_back({.input = batch.input_lengths.back(), .output = batch.output_lengths.back()});
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
