// SPDX-License-Identifier: Apache-2.0
#include "edgewise/graph/graph_pool.h"

#include <string>
#include <vector>

#include "edgewise/graph/builders.h"
#include "edgewise/graph/node_count.h"

namespace edgewise {
namespace {

Graph build_pair(PairLengths lengths) {
  const std::string encoder(kEncoder);
  const std::string decoder(kDecoder);
  return Graph({{encoder, lengths.input}, {decoder, lengths.output}},
               {{std::string(kEncoderEncoder), encoder, encoder, complete(lengths.input)},
                {std::string(kEncoderDecoder), encoder, decoder, bipartite(lengths.input, lengths.output)},
                {std::string(kDecoderDecoder), decoder, decoder, causal(lengths.output)}});
}

}  // namespace

const Graph& GraphPool::pair(PairLengths lengths) {
  const std::pair key(lengths.input, lengths.output);
  if (const auto found = pairs_.find(key); found != pairs_.end()) return found->second;

  check_node_count(lengths.input, "GraphPool: length of an input");
  check_node_count(lengths.output, "GraphPool: length of an output");
  return pairs_.emplace(key, build_pair(lengths)).first->second;
}

Graph GraphPool::batch(std::span<const PairLengths> lengths) {
  if (lengths.empty()) return pair({}).without_parts();

  std::vector<Graph> parts;
  parts.reserve(lengths.size());
  for (const PairLengths& part : lengths) parts.push_back(pair(part));
  return Graph::batch(parts);
}

Graph GraphPool::inputs(std::span<const std::int64_t> input_lengths) {
  std::vector<PairLengths> lengths;
  lengths.reserve(input_lengths.size());
  for (const std::int64_t length : input_lengths) lengths.push_back({.input = length, .output = 0});
  return batch(lengths);
}

}  // namespace edgewise
