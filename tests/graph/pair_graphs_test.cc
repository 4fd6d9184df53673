// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>
#include <tuple>

#include "edgewise/base/error.h"
#include "edgewise/graph/batch.h"
#include "edgewise/graph/builders.h"
#include "tests/graph/relations.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Returns the numbers first … last.
template <typename Index>
std::vector<Index> range(Index first, Index last) {
  std::vector<Index> numbers(last - first + 1);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

rc::Gen<std::vector<PairLengths>> arbitrary_lengths() {
  const auto length = in_range<std::int64_t>(0, 6);
  return arbitrary_list(0, 6, rc::gen::construct<PairLengths>(length, length));
}

TEST(PairGraphs, NumbersAPairOf9And10TokensAsTheTutorialDoes) {
  const Graph& graph = make_pair_graph({.input = 9, .output = 10});

  EXPECT_EQ(graph.num_nodes(), 19);
  EXPECT_EQ(graph.num_edges(), 226);
  EXPECT_EQ(graph.nodes(kEncoder), range<NodeIndex>(0, 8));
  EXPECT_EQ(graph.nodes(kDecoder), range<NodeIndex>(9, 18));
  EXPECT_EQ(graph.edges(kEncoderEncoder), range<EdgeIndex>(0, 80));
  EXPECT_EQ(graph.edges(kEncoderDecoder), range<EdgeIndex>(81, 170));
  EXPECT_EQ(graph.edges(kDecoderDecoder), range<EdgeIndex>(171, 225));
}

TEST(PairGraphs, ConnectsTheSetsWithTheEdgesOfTheTutorial) {
  const Graph& graph = make_pair_graph({.input = 2, .output = 3});

  EXPECT_THAT(ends_of(graph.find_edges(graph.edges(kEncoderEncoder))),
              ElementsAre(Edge{0, 0}, Edge{1, 0}, Edge{0, 1}, Edge{1, 1}));
  EXPECT_THAT(ends_of(graph.find_edges(graph.edges(kEncoderDecoder))),
              ElementsAre(Edge{0, 2}, Edge{1, 2}, Edge{0, 3}, Edge{1, 3}, Edge{0, 4}, Edge{1, 4}));
  EXPECT_THAT(ends_of(graph.find_edges(graph.edges(kDecoderDecoder))),
              ElementsAre(Edge{2, 2}, Edge{2, 3}, Edge{3, 3}, Edge{2, 4}, Edge{3, 4}, Edge{4, 4}));
}

TEST(PairGraphs, ShiftsTheNumbersOfASecondGraphByTheSizesOfTheFirst) {
  const std::vector<PairLengths> lengths = {{.input = 9, .output = 10}, {.input = 9, .output = 10}};

  const Graph graph = make_batch_graph(lengths);

  EXPECT_EQ(graph.num_parts(), 2);
  EXPECT_EQ(graph.nodes(kEncoder, 1), range<NodeIndex>(19, 27));
  EXPECT_EQ(graph.nodes(kDecoder, 1), range<NodeIndex>(28, 37));
  EXPECT_EQ(graph.edges(kEncoderEncoder, 1), range<EdgeIndex>(226, 306));
  EXPECT_EQ(graph.edges(kEncoderDecoder, 1), range<EdgeIndex>(307, 396));
  EXPECT_EQ(graph.edges(kDecoderDecoder, 1), range<EdgeIndex>(397, 451));
}

/// Returns the definition of a pair's graph.
Graph build_pair(PairLengths lengths) {
  const std::string encoder(kEncoder);
  const std::string decoder(kDecoder);
  return Graph({{encoder, lengths.input}, {decoder, lengths.output}},
               {{std::string(kEncoderEncoder), encoder, encoder, complete(lengths.input)},
                {std::string(kEncoderDecoder), encoder, decoder, bipartite(lengths.input, lengths.output)},
                {std::string(kDecoderDecoder), decoder, decoder, causal(lengths.output)}});
}

RC_GTEST_PROP(PairGraphs, AreTheJoinedGraphsOfTheirPairs, ()) {
  const auto lengths = *arbitrary_lengths();

  const Graph batch = make_batch_graph(lengths);

  std::vector<Graph> parts;
  for (const PairLengths& part : lengths) parts.push_back(build_pair(part));
  const Graph expected = Graph::batch(parts);
  RC_ASSERT(batch.num_parts() == std::ssize(lengths));
  RC_ASSERT(ends_of(batch.all_edges()) == ends_of(expected.all_edges()));
  for (std::size_t i = 0; i < expected.relations().size(); ++i) {
    RC_ASSERT(batch.relations()[i].name == expected.relations()[i].name);
    RC_ASSERT(batch.relations()[i].relation == expected.relations()[i].relation);
  }
  for (std::int64_t part = 0; part < batch.num_parts(); ++part) {
    RC_ASSERT(batch.nodes(kDecoder, part) == expected.nodes(kDecoder, part));
    RC_ASSERT(batch.edges(kDecoderDecoder, part) == expected.edges(kDecoderDecoder, part));
  }
}

TEST(PairGraphs, MirrorsThePositionsOfEachInputButThatOfItsEndToken) {
  Batch batch = make_batch(std::vector<TokenPair>{{{4, 5, 6, 3}, {2, 3}}, {{3}, {2, 3}}, {{7, 8, 3}, {2, 3}}});
  EXPECT_THAT(mirrored_positions(batch), ElementsAre(2, 1, 0, 3, 0, 1, 0, 2));

  batch.input_positions = {10, 20, 30, 40, 7, 1, 5, 9};
  EXPECT_THAT(mirrored_positions(batch), ElementsAre(30, 20, 10, 40, 7, 5, 1, 9));
}

RC_GTEST_PROP(PairGraphs, KeepsRelationsAsIntervals, ()) {
  const Graph batch = make_batch_graph(*arbitrary_lengths());

  for (const auto& named : batch.relations()) RC_ASSERT(named.relation.form() == Relation::Form::kIntervals);
}

TEST(PairGraphs, BatchesALongPairWithoutListingItsEdges) {
  const std::vector<PairLengths> lengths(4, {.input = 100'000, .output = 100'000});

  const Graph batch = make_batch_graph(lengths);

  // Lists of these edges would take 400 GB.
  EXPECT_EQ(batch.num_edges(), 4 * (100'000LL * 100'000 * 2 + 100'000LL * 100'001 / 2));
}

TEST(PairGraphs, HasItsSetsInAnEmptyBatch) {
  const Graph batch = make_batch_graph({});

  EXPECT_EQ(batch.num_parts(), 0);
  EXPECT_EQ(batch.set_size(kEncoder), 0);
  EXPECT_EQ(batch.relation(kDecoderDecoder), Relation());
}

TEST(PairGraphs, MakesInputsWithAnEmptyDecoder) {
  const std::vector<std::int64_t> input_lengths = {3, 2};

  const Graph graph = make_input_graph(input_lengths);

  EXPECT_EQ(graph.num_parts(), 2);
  EXPECT_EQ(graph.set_size(kDecoder), 0);
  EXPECT_THAT(graph.nodes(kEncoder, 1), ElementsAre(3, 4));
  EXPECT_EQ(graph.num_edges(), 9 + 4);
  EXPECT_EQ(graph.relation(kEncoderEncoder), Relation::from_intervals(5, {{0, 3}, {0, 3}, {0, 3}, {3, 5}, {3, 5}}));
}

TEST(PairGraphs, RejectsANegativeLength) {
  EXPECT_EQ(error_of([&] { make_pair_graph({.input = -1, .output = 2}); }),
            "make_batch_graph: length of an input is -1, needs a number from 0 to 2147483647");
  EXPECT_EQ(error_of([&] { make_pair_graph({.input = 1, .output = 3'000'000'000}); }),
            "make_batch_graph: length of an output is 3000000000, needs a number from 0 to 2147483647");
}

TEST(MakeBatch, LabelsEachDecoderNodeWithTheNextToken) {
  const std::vector<TokenPair> pairs = {{.input = {7, 8, 9}, .output = {1, 5, 6, 2}}, {.input = {4}, .output = {1, 2}}};

  const Batch batch = make_batch(pairs);

  EXPECT_EQ(batch.num_sentences(), 2);
  EXPECT_THAT(batch.input_tokens, ElementsAre(7, 8, 9, 4));
  EXPECT_THAT(batch.input_positions, ElementsAre(0, 1, 2, 0));
  EXPECT_THAT(batch.output_tokens, ElementsAre(1, 5, 6, 1));
  EXPECT_THAT(batch.output_positions, ElementsAre(0, 1, 2, 0));
  EXPECT_THAT(batch.labels, ElementsAre(5, 6, 2, 2));
  EXPECT_THAT(batch.input_lengths, ElementsAre(3, 1));
  EXPECT_THAT(batch.output_lengths, ElementsAre(3, 1));
  const std::vector<PairLengths> lengths = {{.input = 3, .output = 3}, {.input = 1, .output = 1}};
  EXPECT_EQ(ends_of(batch.graph.all_edges()), ends_of(make_batch_graph(lengths).all_edges()));
}

TEST(MakeBatch, MakesAnEmptyBatchOfNoPairs) {
  const Batch batch = make_batch({});

  EXPECT_EQ(batch.num_sentences(), 0);
  EXPECT_EQ(batch.graph.num_nodes(), 0);
  EXPECT_THAT(batch.labels, IsEmpty());
}

TEST(MakeBatch, HasNoEncoderNodesForTexts) {
  const std::vector<TokenPair> texts = {{{}, {2, 6, 7, 3}}, {{}, {8, 9}}};

  const Batch batch = make_batch(texts);

  EXPECT_THAT(batch.input_tokens, IsEmpty());
  EXPECT_THAT(batch.output_tokens, ElementsAre(2, 6, 7, 8));
  EXPECT_THAT(batch.output_positions, ElementsAre(0, 1, 2, 0));
  EXPECT_THAT(batch.labels, ElementsAre(6, 7, 3, 9));
  EXPECT_EQ(batch.graph.num_nodes(), 4);
  EXPECT_EQ(batch.graph.relation(kEncoderDecoder).num_edges(), 0);
  EXPECT_EQ(batch.graph.relation(kDecoderDecoder).num_edges(), 3 + 2 + 1 + 1);
}

TEST(MakeBatch, FindsTheEdgesOfLinksAndSharesTheAttentionOfADecoderNode) {
  std::vector<TokenPair> pairs = {{{4, 5}, {2, 6, 7, 3}, {{1, 0}, {0, 2}, {1, 2}}}, {{8, 9, 4}, {2, 3}, {{2, 0}}}};

  const Batch batch = make_batch(pairs);

  const EdgeList edges = batch.graph.relation(kEncoderDecoder).edges();
  std::vector<std::tuple<NodeIndex, NodeIndex, float>> found;
  for (const auto& [edge, share] : batch.linked_edges) {
    const auto i = static_cast<std::size_t>(edge);
    found.emplace_back(edges.sources[i], edges.destinations[i], share);
  }
  EXPECT_THAT(found, ElementsAre(std::tuple(1, 0, 1.0f), std::tuple(0, 2, 0.5f), std::tuple(1, 2, 0.5f),
                                 std::tuple(4, 3, 1.0f)));
  EXPECT_EQ(repeat_batch(batch).linked_edges,
            make_batch(std::vector<TokenPair>{pairs[0], pairs[1], pairs[0], pairs[1]}).linked_edges);
  pairs[1].links = {{0, 1}};
  EXPECT_THAT([&] { make_batch(pairs); },
              testing::ThrowsMessage<Error>("make_batch: a pair of 3 encoder and 1 decoder nodes has the link 0-1, "
                                            "needs nodes of the pair"));
}

TEST(RepeatBatch, HasAllSentencesTwice) {
  const std::vector<TokenPair> pairs = {{{4, 5}, {2, 6, 7, 3}}, {{8}, {2, 3}}};
  const std::vector<TokenPair> pairs_twice = {pairs[0], pairs[1], pairs[0], pairs[1]};

  const Batch both = repeat_batch(make_batch(pairs));

  const Batch expected = make_batch(pairs_twice);
  EXPECT_EQ(both.input_tokens, expected.input_tokens);
  EXPECT_EQ(both.input_positions, expected.input_positions);
  EXPECT_EQ(both.output_tokens, expected.output_tokens);
  EXPECT_EQ(both.output_positions, expected.output_positions);
  EXPECT_EQ(both.labels, expected.labels);
  EXPECT_EQ(both.input_lengths, expected.input_lengths);
  EXPECT_EQ(both.output_lengths, expected.output_lengths);
  EXPECT_EQ(both.graph.num_nodes(), expected.graph.num_nodes());
  EXPECT_EQ(both.graph.num_edges(), expected.graph.num_edges());
}

TEST(MakeInputBatch, HasEncoderNodesOnly) {
  const std::vector<std::vector<std::int64_t>> inputs = {{7, 8}, {9}};

  const Batch batch = make_input_batch(inputs);

  EXPECT_THAT(batch.input_tokens, ElementsAre(7, 8, 9));
  EXPECT_THAT(batch.input_positions, ElementsAre(0, 1, 0));
  EXPECT_THAT(batch.input_lengths, ElementsAre(2, 1));
  EXPECT_THAT(batch.output_lengths, ElementsAre(0, 0));
  EXPECT_THAT(batch.output_tokens, IsEmpty());
  EXPECT_THAT(batch.labels, IsEmpty());
  EXPECT_EQ(batch.graph.num_nodes(), 3);
}

TEST(MakeBatch, RejectsASentenceThatIsTooShort) {
  const std::vector<TokenPair> no_input = {{.input = {3}, .output = {1, 2}}, {.input = {}, .output = {1, 2}}};
  const std::vector<TokenPair> one_input = {{.input = {}, .output = {1, 2}}, {.input = {3}, .output = {1, 2}}};
  const std::vector<TokenPair> short_output = {{.input = {3}, .output = {1}}};
  const std::vector<std::vector<std::int64_t>> inputs = {{1}, {}};

  EXPECT_EQ(error_of([&] { make_batch(no_input); }),
            "make_batch: input of pairs[1] is empty, needs at least one token");
  EXPECT_EQ(error_of([&] { make_batch(one_input); }),
            "make_batch: input of pairs[1] has 1 tokens, needs none, as pairs[0] has none");
  EXPECT_EQ(error_of([&] { make_batch(short_output); }),
            "make_batch: output of pairs[0] has length 1, needs at least 2: the begin and the end token");
  EXPECT_EQ(error_of([&] { make_input_batch(inputs); }),
            "make_input_batch: inputs[1] is empty, needs at least one token");
}

}  // namespace
}  // namespace edgewise
