// SPDX-License-Identifier: Apache-2.0
// Patterns of a config in a Transformer: each layer attends along the edges of its terms.
#include "edgewise/models/layer_relations.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "edgewise/graph/builders.h"
#include "edgewise/graph/relation_ops.h"
#include "edgewise/models/language_model.h"
#include "edgewise/models/model_costs.h"
#include "tests/models/agreement.h"
#include "tests/models/small_models.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

TransformerOptions options_with(const StringLists& relation, const StringLists& encoder_relation) {
  TransformerOptions options = small_options(TransformerPreset::kTutorial);
  options.relation = relation;
  options.encoder_relation = encoder_relation;
  return options;
}

at::Tensor logits_of_batch(const Transformer& model, const Batch& batch) {
  Pass pass = Pass::inference();
  return model.forward(batch, pass);
}

/// Returns `batch` with the relation that `make` gives for the length of each document.
template <class Make>
Batch with_documents(Batch batch, std::string_view name, const std::vector<std::int64_t>& lengths, const Make& make) {
  std::vector<Relation> parts;
  for (const std::int64_t length : lengths) parts.push_back(make(length));
  batch.graph = batch.graph.with_relation(name, join(parts));
  return batch;
}

TEST(Patterns, GiveTheTransformerTheRelationsOfTheirTerms) {
  const auto with_hand_made = [](const Batch& batch) {
    const Batch encoder = with_documents(batch, kEncoderEncoder, batch.input_lengths,
                                         [](std::int64_t length) { return window(length, {.before = 1, .after = 1}); });
    return with_documents(encoder, kDecoderDecoder, batch.output_lengths, [](std::int64_t length) {
      return unite(window(length, {.before = 1}), from_mask(length, length, [&] {
                     std::vector<std::uint8_t> first_token(static_cast<std::size_t>(length * length), 0);
                     for (std::int64_t row = 0; row < length; ++row) first_token[row * length] = 1;
                     return first_token;
                   }()));
    });
  };
  const Transformer plain = small_model(options_with({{"causal"}}, {{"complete"}}));
  const Transformer model = small_model(options_with({{"window 2", "sinks 1"}}, {{"window 1"}}));
  const Batch batch = small_batch();

  EXPECT_TRUE(at::equal(logits_of_batch(model, batch), logits_of_batch(plain, with_hand_made(batch))));
  EXPECT_FALSE(at::equal(logits_of_batch(model, batch), logits_of_batch(plain, batch)));
}

TEST(Patterns, GiveALanguageModelTheRelationsOfItsTexts) {
  const auto logits_with = [](const StringLists& relation, const Batch& batch) {
    TransformerOptions options = options_with(relation, {{"complete"}});
    options.kind = ModelKind::kLanguageModel;
    options.tying = Tying::kOutput;
    Pass pass = Pass::inference();
    return randomised(LanguageModel(options, 1)).forward(batch, pass);
  };
  const Batch batch = make_batch(std::vector<TokenPair>{{{}, {2, 7, 6, 9, 4, 3}}, {{}, {8, 3}}, {{}, {2, 4, 5, 6, 7}}});
  const Batch windows = with_documents(batch, kDecoderDecoder, batch.output_lengths,
                                       [](std::int64_t length) { return window(length, {.before = 1}); });

  EXPECT_TRUE(at::equal(logits_with({{"window 2"}}, batch), logits_with({{"causal"}}, windows)));
  EXPECT_FALSE(at::equal(logits_with({{"window 2"}}, batch), logits_with({{"causal"}}, batch)));
}

TEST(Patterns, RepeatOverTheLayersAndShareRelations) {
  const std::vector<std::int64_t> lengths = {6, 4};
  const Relation all = join(std::vector<Relation>{causal(6), causal(4)});
  const RelationPatterns patterns =
      parse_patterns({{"window 2"}, {"causal"}, {"window 2"}}, Direction::kCausal, "relation");
  const LayerRelations relations(patterns, all, lengths);

  const Relation windows = join(std::vector<Relation>{window(6, {.before = 1}), window(4, {.before = 1})});
  for (const std::size_t layer : {0, 2, 3, 5}) EXPECT_EQ(relations.of_layer(layer), windows) << layer;
  for (const std::size_t layer : {1, 4}) EXPECT_EQ(relations.of_layer(layer).view().intervals, all.view().intervals);
  EXPECT_EQ(relations.of_layer(0).view().intervals, relations.of_layer(2).view().intervals);  // one storage
}

TEST(Patterns, OfAllTokensHaveTheBitsOfAModelWithoutPatterns) {
  const Batch batch = small_batch();
  const at::Tensor expected = logits_of_batch(small_model(options_with({{"causal"}}, {{"complete"}})), batch);

  for (const StringLists& all : {StringLists{{"document"}}, StringLists{{"causal"}, {"window 99"}}}) {
    EXPECT_TRUE(at::equal(logits_of_batch(small_model(options_with(all, {{"complete"}})), batch), expected));
  }
  EXPECT_TRUE(at::equal(logits_of_batch(small_model(options_with({{"causal"}}, {{"document"}})), batch), expected));
}

TEST(Patterns, AgreeWithMessagesAlongTheirEdges) {
  for (const StringLists& relation : {StringLists{{"window 2"}, {"sinks 1", "dilated 2 by 2"}},
                                      StringLists{{"causal"}, {"random 2", "global every 3"}}}) {
    const Transformer model = small_model(options_with(relation, {{"blocks 2"}, {"complete"}}));
    const Batch batch = small_batch();
    MessageGraph graph(batch.graph);
    Pass for_messages = Pass::inference();
    Pass for_fused = Pass::inference();
    expect_same(model, model.forward_by_messages(graph, batch, for_messages), model.forward(batch, for_fused));
  }
}

TEST(Patterns, CountTheirEdgesInFlops) {
  const TransformerOptions plain = options_with({{"causal"}}, {{"complete"}});
  const TransformerOptions patterned = options_with({{"window 1"}, {"causal"}}, {{"complete"}});
  const Batch batch = make_batch(std::vector<TokenPair>{{{4, 5}, {2, 7, 6, 8, 3}}});  // 4 decoder nodes

  const double fewer_edges = (4 * 5 / 2) - 4;
  EXPECT_EQ(training_flops(plain, batch) - training_flops(patterned, batch), 12 * fewer_edges * 8);
}

TEST(Patterns, NeedTheLengthsOfTheBatch) {
  const RelationPatterns patterns = parse_patterns({{"window 2"}}, Direction::kCausal, "relation");
  EXPECT_EQ(error_of([&] { LayerRelations(patterns, causal(3), std::vector<std::int64_t>{2}); }),
            "LayerRelations: the lengths sum to 2, needs 3, the nodes of the batch's relation");
}

}  // namespace
}  // namespace edgewise
