// SPDX-License-Identifier: Apache-2.0
// The model of each source document, compared with dense padded tensors with masks, and with the values that the
// documents print.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "edgewise/graph/builders.h"
#include "edgewise/graph/relation_ops.h"
#include "edgewise/ops/loss.h"
#include "tests/models/dense_transformer.h"
#include "tests/models/small_models.h"

namespace edgewise {
namespace {

using Shape = std::vector<std::int64_t>;
using Tokens = std::vector<std::int64_t>;

// Returns token lists as the rows of one tensor, padded with zeros.
at::Tensor pad(const std::vector<Tokens>& rows) {
  const auto longest = std::max_element(rows.begin(), rows.end(), [](auto& a, auto& b) { return a.size() < b.size(); });
  const at::Tensor result =
      at::zeros({static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(longest->size())}, at::kLong);
  for (std::size_t b = 0; b < rows.size(); ++b) {
    for (std::size_t t = 0; t < rows[b].size(); ++t) {
      result[static_cast<std::int64_t>(b)][static_cast<std::int64_t>(t)] = rows[b][t];
    }
  }
  return result;
}

// Removes padding: [B, T, C] to [sum of lengths, C].
at::Tensor remove_padding(const at::Tensor& values_BTC, const std::vector<std::int64_t>& lengths) {
  std::vector<at::Tensor> parts;
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    parts.push_back(values_BTC[static_cast<std::int64_t>(b)].slice(0, 0, lengths[b]));
  }
  return at::cat(parts);
}

at::Tensor dense_logits(const Transformer& model, const Batch& batch) {
  std::vector<Tokens> inputs;
  std::vector<Tokens> outputs;
  for (const TokenPair& pair : small_pairs()) {
    inputs.push_back(pair.input);
    outputs.emplace_back(pair.output.begin(), pair.output.end() - 1);
  }
  const at::Tensor input = pad(inputs);
  const at::Tensor output = pad(outputs);
  const at::Tensor input_mask = (input != 0).unsqueeze(1);
  const at::Tensor no_peek = at::ones({output.size(1), output.size(1)}).tril();
  const at::Tensor output_mask = (output != 0).unsqueeze(1).logical_and(no_peek);

  const DenseTransformer dense(model);
  const at::Tensor logits = dense.decode(output, output_mask, dense.encode(input, input_mask), input_mask);
  return remove_padding(logits, batch.output_lengths);
}

TEST(Transformer, MatchesThePaddedAndMaskedReferenceForEachPreset) {
  for (const TransformerPreset preset : all_presets()) {
    SCOPED_TRACE(enum_name(preset));
    const Transformer model = small_model(small_options(preset));
    const Batch batch = small_batch();
    Pass pass = Pass::inference();

    expect_close(model.forward(batch, pass), dense_logits(model, batch), 1e-10);
  }
}

TEST(Transformer, MatchesThePaddedAndMaskedReferenceForLayersThatNoPresetHas) {
  for (const auto& [name, options] : options_without_preset()) {
    SCOPED_TRACE(name);
    const Transformer model = small_model(options);
    const Batch batch = small_batch();
    Pass pass = Pass::inference();

    expect_close(model.forward(batch, pass), dense_logits(model, batch), 1e-10);
  }
}

// --- the graph tutorial ---

std::vector<std::int64_t> range(std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(end - begin));
  std::iota(numbers.begin(), numbers.end(), begin);
  return numbers;
}

std::vector<std::int64_t> to_vector(const at::Tensor& tensor) {
  return {tensor.data_ptr<std::int64_t>(), tensor.data_ptr<std::int64_t>() + tensor.numel()};
}

TEST(Tutorial, NumbersNodesAndEdgesAsThePrintedGraph) {
  const std::vector<TokenPair> pairs = {{{28, 25, 7, 26, 6, 4, 5, 9, 18}, {0, 28, 25, 7, 26, 6, 4, 5, 9, 18, 1}}};
  const Batch batch = make_batch(pairs);
  const MessageGraph graph(batch.graph);

  EXPECT_EQ(to_vector(graph.nodes(kEncoder)), range(0, 9));
  EXPECT_EQ(to_vector(graph.nodes(kDecoder)), range(9, 19));
  EXPECT_EQ(to_vector(graph.edges(kEncoderEncoder)), range(0, 81));
  EXPECT_EQ(to_vector(graph.edges(kEncoderDecoder)), range(81, 171));
  EXPECT_EQ(to_vector(graph.edges(kDecoderDecoder)), range(171, 226));
  EXPECT_EQ(batch.input_tokens, pairs[0].input);
  EXPECT_EQ(batch.input_positions, range(0, 9));
  EXPECT_EQ(batch.output_tokens, (Tokens{0, 28, 25, 7, 26, 6, 4, 5, 9, 18}));
  EXPECT_EQ(batch.output_positions, range(0, 10));
}

// Returns the options of the tutorial's copy task: one layer, one head, size 128, all embeddings tied.
TransformerOptions copy_task_options() {
  TransformerOptions options = TransformerOptions::from_preset(TransformerPreset::kTutorial);
  options.encoder_layers = options.decoder_layers = 1;
  options.size = options.feed_forward = 128;
  options.heads = 1;
  options.input_vocabulary = options.output_vocabulary = 30;
  return options;
}

std::vector<TokenPair> copy_pairs(std::int64_t count) {
  RandomStream random(4);
  std::vector<TokenPair> pairs;
  for (std::int64_t i = 0; i < count; ++i) {
    TokenPair pair;
    for (std::uint64_t length = 3 + random.next_below(8); length > 0; --length) {
      pair.input.push_back(4 + static_cast<std::int64_t>(random.next_below(26)));
    }
    pair.output = pair.input;
    pair.output.insert(pair.output.begin(), 2);
    pair.output.push_back(3);
    pairs.push_back(pair);
  }
  return pairs;
}

/// Returns the losses per token of four steps of gradient descent.
template <typename Forward>
std::vector<double> train(const Transformer& model, const Batch& batch, const Forward& forward) {
  std::vector<double> losses;
  for (std::uint64_t step = 0; step < 4; ++step) {
    Pass pass = Pass::training(step);
    const at::Tensor labels = at::tensor(batch.labels);
    const at::Tensor loss = smoothed_loss(forward(model, batch, pass), labels, {.smoothing = 0.1, .ignored = 0}) /
                            static_cast<double>(batch.labels.size());
    losses.push_back(loss.item<double>());
    loss.backward();
    for (const NamedTensor& named : parameters(model)) {
      named.tensor.detach().sub_(0.1 * named.tensor.grad());
      named.tensor.mutable_grad() = at::Tensor();
    }
  }
  return losses;
}

TEST(Tutorial, CopyTaskHasTheSameLossesByMessagesAndFused) {
  const Batch batch = make_batch(copy_pairs(8));

  const auto fused = train(Transformer(copy_task_options(), 1), batch,
                           [](const Transformer& m, const Batch& b, Pass& pass) { return m.forward(b, pass); });
  const auto messages =
      train(Transformer(copy_task_options(), 1), batch, [](const Transformer& m, const Batch& b, Pass& pass) {
        MessageGraph graph(b.graph);
        return m.forward_by_messages(graph, b, pass);
      });

  for (std::size_t i = 0; i < fused.size(); ++i) EXPECT_NEAR(fused[i], messages[i], 1e-5) << "step " << i;
  EXPECT_LT(fused.back(), fused.front());
}

// --- the textbook chapter ---

TransformerOptions chapter_toy() {
  TransformerOptions options = TransformerOptions::from_preset(TransformerPreset::kChapter);
  options.size = 24;
  options.feed_forward = 48;
  options.heads = 8;
  options.input_vocabulary = options.output_vocabulary = 200;
  return options;
}

TEST(Chapter, EncoderOfTwoBlocksTakesTokensToStates) {
  const Transformer model(chapter_toy(), 1);
  Batch batch = make_input_batch(std::vector<Tokens>(2, Tokens(100, 1)));
  const std::vector<std::int64_t> first(100, 2);
  const std::vector<std::int64_t> second(100, 3);
  batch.graph =
      batch.graph.with_relation(kEncoderEncoder, join(std::vector<Relation>{prefix(100, first), prefix(100, second)}));
  Pass pass = Pass::inference();

  const at::Tensor encoded = model.encode(batch, pass);

  EXPECT_EQ(encoded.view({2, 100, 24}).sizes(), (Shape{2, 100, 24}));
  EXPECT_EQ(model.encoder().layers.size(), 2u);
}

TEST(Chapter, ValidLengthsGiveTheStatesOfSentencesWithoutPadding) {
  const Transformer model = small_model(small_options(TransformerPreset::kChapter));
  Batch with_padding = make_input_batch(std::vector<Tokens>{{4, 9, 0, 0}, {5, 6, 7, 0}});
  with_padding.graph = with_padding.graph.with_relation(
      kEncoderEncoder, join(std::vector<Relation>{prefix(4, std::vector<std::int64_t>(4, 2)),
                                                  prefix(4, std::vector<std::int64_t>(4, 3))}));
  const Batch without = make_input_batch(std::vector<Tokens>{{4, 9}, {5, 6, 7}});
  Pass pass = Pass::inference();

  const at::Tensor encoded = model.encode(with_padding, pass);

  expect_close(at::cat({encoded.slice(0, 0, 2), encoded.slice(0, 4, 7)}), model.encode(without, pass), 1e-12);
}

TEST(Chapter, DecoderEndsWithADenseLayerOverTheVocabulary) {
  const Transformer model(chapter_toy(), 1);
  const Batch batch = make_batch(std::vector<TokenPair>(2, {Tokens(100, 1), Tokens(101, 1)}));
  Pass pass = Pass::inference();

  const at::Tensor logits = model.forward(batch, pass);

  EXPECT_EQ(logits.view({2, 100, 200}).sizes(), (Shape{2, 100, 200}));
}

}  // namespace
}  // namespace edgewise
