// SPDX-License-Identifier: Apache-2.0
// Compares single layers with the numbers, shapes and masks that the source documents print (docs/sources.md).
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "edgewise/graph/builders.h"
#include "edgewise/graph/relation_ops.h"
#include "edgewise/nn/attention.h"
#include "edgewise/nn/embedding.h"
#include "edgewise/nn/sublayer.h"
#include "edgewise/nn/transformer_layers.h"
#include "tests/nn/convert_parameters.h"
#include "tests/nn/tensors.h"

namespace edgewise {
namespace {

using Shape = std::vector<std::int64_t>;

// Returns the relation of B sentences padded to one length: every token attends to the first lengths[b] tokens.
Relation valid_lengths(std::int64_t padded, const std::vector<std::int64_t>& lengths) {
  std::vector<Relation> parts;
  for (const std::int64_t length : lengths) {
    parts.push_back(prefix(padded, std::vector<std::int64_t>(static_cast<std::size_t>(padded), length)));
  }
  return join(parts);
}

// --- the textbook chapter ---

TEST(Chapter, AttentionMapsFiveFeaturesToAHundred) {
  RandomStream random(1);
  MultiHeadAttentionOptions options = MultiHeadAttentionOptions::even(100, 10);
  options.input_size = 5;
  options.bias = Bias::kNone;
  options.dropout = 0.5;
  const MultiHeadAttention cell(options, random);
  const at::Tensor x = at::ones({2 * 4, 5});
  Pass pass = Pass::inference();

  const at::Tensor result = cell(valid_lengths(4, {2, 3}), x, x, pass);

  EXPECT_EQ(result.view({2, 4, 100}).sizes(), (Shape{2, 4, 100}));
}

TEST(Chapter, ValidLengthsHidePaddedTokens) {
  RandomStream random(1);
  MultiHeadAttentionOptions options = MultiHeadAttentionOptions::even(100, 10);
  options.input_size = 5;
  const MultiHeadAttention cell = randomised(MultiHeadAttention(options, random));
  const at::Tensor x = random_tensor({2, 4, 5}, 1);
  const at::Tensor other = x.clone();
  other[0].slice(0, 2) += 1.0;  // after the valid lengths 2 and 3
  other[1].slice(0, 3) += 1.0;
  const Relation relation = valid_lengths(4, {2, 3});
  const auto run = [&](const at::Tensor& tokens) {
    Pass pass = Pass::inference();
    return cell(relation, tokens.view({8, 5}), tokens.view({8, 5}), pass).view({2, 4, 100});
  };

  const at::Tensor before = run(x);
  const at::Tensor after = run(other);

  EXPECT_TRUE(at::equal(before[0].slice(0, 0, 2), after[0].slice(0, 0, 2)));
  EXPECT_TRUE(at::equal(before[1].slice(0, 0, 3), after[1].slice(0, 0, 3)));
  // Padded tokens still have queries; their results are unused.
  EXPECT_FALSE(at::equal(before[0].slice(0, 2), after[0].slice(0, 2)));
}

TEST(Chapter, FeedForwardGivesEqualResultsForEqualTokens) {
  RandomStream random(1);
  FeedForward ffn;  // with ReLU and without dropout
  ffn.inner = Linear(4, 4, Bias::kZero, random);
  ffn.outer = Linear(4, 8, Bias::kZero, random);
  Pass pass = Pass::inference();

  const at::Tensor result = ffn(at::ones({2, 3, 4}), pass);

  EXPECT_EQ(result.sizes(), (Shape{2, 3, 8}));
  EXPECT_TRUE(at::equal(result, result[0][0].expand({2, 3, 8})));
}

TEST(Chapter, LayerNormGivesThePrintedNumbers) {
  const Norm norm(2, NormKind::kLayerNorm, 1e-5);

  const at::Tensor result = norm(at::tensor({1.0f, 2.0f, 2.0f, 3.0f}).view({2, 2}));

  expect_close(result, at::tensor({-0.99998f, 0.99998f, -0.99998f, 0.99998f}).view({2, 2}), 5e-6);
}

TEST(Chapter, AddAndNormKeepsTheShape) {
  LayerOptions options;
  options.size = 4;
  options.norm_placement = NormPlacement::kPost;
  options.dropout.residual = 0.5;
  const Sublayer add_norm(options);
  Pass pass = Pass::inference();

  const at::Tensor result = add_norm.add_output(at::ones({6, 4}), at::ones({6, 4}), pass);

  EXPECT_EQ(result.view({2, 3, 4}).sizes(), (Shape{2, 3, 4}));
  EXPECT_TRUE(at::equal(result, at::zeros({6, 4})));  // a constant row has no deviation
}

TEST(Chapter, PositionsShareAFrequencyInPairs) {
  std::vector<std::int64_t> positions(100);
  for (std::size_t i = 0; i < positions.size(); ++i) positions[i] = static_cast<std::int64_t>(i);

  const at::Tensor y = PositionEncodings(20)(positions, at::kDouble);

  const auto frequency = [&](std::int64_t even) { return std::asin(y[1][even].item<double>()); };
  EXPECT_NEAR(frequency(4), std::pow(10000.0, -4.0 / 20.0), 1e-12);
  EXPECT_NEAR(frequency(6), std::pow(10000.0, -6.0 / 20.0), 1e-12);
  EXPECT_LT(frequency(6), frequency(4));
  for (const std::int64_t even : {4, 6}) {  // dimensions `even` and `even` + 1 are sine and cosine of one angle
    expect_close(y.select(1, even).pow(2) + y.select(1, even + 1).pow(2), at::ones({100}, at::kDouble), 1e-12);
  }
}

LayerOptions chapter_block() {
  LayerOptions options;
  options.size = 24;
  options.heads = 8;
  options.feed_forward = 48;
  options.norm_placement = NormPlacement::kPost;
  options.attention_bias = false;
  options.dropout = {.embedding = 0.5, .residual = 0.5, .attention = 0.5, .activation = 0.0};
  return options;
}

TEST(Chapter, EncoderAndDecoderBlockKeepTheShape) {
  RandomStream random(1);
  const EncoderLayer encoder_block(chapter_block(), random);
  const DecoderLayer decoder_block(chapter_block(), random);
  const Relation valid = valid_lengths(100, {2, 3});
  const at::Tensor x = at::ones({2 * 100, 24});
  Pass pass = Pass::inference();

  const at::Tensor encoded = encoder_block(valid, x, pass);
  const at::Tensor decoded = decoder_block(join(std::array{causal(100), causal(100)}), valid, x, encoded, pass);

  EXPECT_EQ(encoded.view({2, 100, 24}).sizes(), (Shape{2, 100, 24}));
  EXPECT_EQ(decoded.view({2, 100, 24}).sizes(), (Shape{2, 100, 24}));
}

TEST(Chapter, EncoderBlockIsAddAndNormTwice) {
  RandomStream random(1);
  const EncoderLayer block = randomised(EncoderLayer(chapter_block(), random));
  const at::Tensor x = random_tensor({5, 24}, 1);
  Pass pass = Pass::inference();

  const at::Tensor y = block.self_sublayer.norm(x + block.self_attention(complete(5), x, x, pass));
  const at::Tensor expected = block.feed_forward_sublayer.norm(y + block.feed_forward(y, pass));

  expect_close(block(complete(5), x, pass), expected, 1e-12);
}

// --- the from-scratch document ---

// Computes the attention function of the document: scaled scores, with -1e9 outside of the mask.
at::Tensor masked_attention(const MultiHeadAttention& layer, const at::Tensor& x_BTM, const at::Tensor& mask_BTT) {
  const std::int64_t B = x_BTM.size(0);
  const std::int64_t T = x_BTM.size(1);
  const auto heads_first = [&](const Linear& projection) {
    return projection(x_BTM).view({B, T, layer.options.heads, -1}).transpose(1, 2);
  };
  const at::Tensor query = heads_first(layer.query);
  const at::Tensor key = heads_first(layer.key);
  const double scale = std::sqrt(static_cast<double>(layer.options.head_size));
  const at::Tensor scores =
      at::matmul(query, key.transpose(-2, -1)).div(scale).masked_fill(mask_BTT.unsqueeze(1) == 0, -1e9);
  const at::Tensor out = at::matmul(at::softmax(scores, -1), heads_first(layer.value));
  return layer.output(out.transpose(1, 2).contiguous().view({B, T, -1}));
}

struct PaddedSentences {
  std::int64_t padded = 5;
  std::vector<std::int64_t> lengths = {3, 5};
  at::Tensor x_BTM = random_tensor({2, 5, 6}, 1);

  // Returns true for tokens that are not padding: [B, 1, T].
  at::Tensor padding_mask() const {
    const at::Tensor positions = at::arange(padded);
    return (positions.unsqueeze(0) < at::tensor(at::ArrayRef<std::int64_t>(lengths)).unsqueeze(1)).unsqueeze(1);
  }
  at::Tensor no_peek_mask() const { return padding_mask().logical_and(at::ones({5, 5}).tril()); }

  // Returns the tokens without padding, sentence after sentence.
  at::Tensor unpadded(const at::Tensor& tokens_BTM) const {
    return at::cat({tokens_BTM[0].slice(0, 0, lengths[0]), tokens_BTM[1].slice(0, 0, lengths[1])});
  }
};

MultiHeadAttention from_scratch_attention() {
  RandomStream random(1);
  return randomised(MultiHeadAttention(MultiHeadAttentionOptions::even(6, 2), random));
}

TEST(FromScratch, PaddingMaskIsARelationOfPrefixes) {
  const PaddedSentences sentences;
  const MultiHeadAttention layer = from_scratch_attention();
  const at::Tensor flat = sentences.x_BTM.view({10, 6});
  Pass pass = Pass::inference();

  const at::Tensor result = layer(valid_lengths(5, sentences.lengths), flat, flat, pass);

  const at::Tensor mask = sentences.padding_mask().expand({2, 5, 5});
  expect_close(result.view({2, 5, 6}), masked_attention(layer, sentences.x_BTM, mask), 1e-12);
}

TEST(FromScratch, NoPeekMaskWithPaddingIsARelationOfShorterPrefixes) {
  const PaddedSentences sentences;
  const MultiHeadAttention layer = from_scratch_attention();
  const at::Tensor flat = sentences.x_BTM.view({10, 6});
  const Relation relation = join(std::array{prefix(5, std::array<std::int64_t, 5>{1, 2, 3, 3, 3}), causal(5)});
  Pass pass = Pass::inference();

  const at::Tensor result = layer(relation, flat, flat, pass);

  expect_close(result.view({2, 5, 6}), masked_attention(layer, sentences.x_BTM, sentences.no_peek_mask()), 1e-12);
}

TEST(FromScratch, MaskedSentencesEqualSentencesThatAreNotPadded) {
  const PaddedSentences sentences;
  const MultiHeadAttention layer = from_scratch_attention();
  const at::Tensor tokens = sentences.unpadded(sentences.x_BTM);
  const auto run = [&](const Relation& relation) {
    Pass pass = Pass::inference();
    return layer(relation, tokens, tokens, pass);
  };

  const at::Tensor padded = masked_attention(layer, sentences.x_BTM, sentences.padding_mask().expand({2, 5, 5}));
  const at::Tensor no_peek = masked_attention(layer, sentences.x_BTM, sentences.no_peek_mask());

  expect_close(run(join(std::array{complete(3), complete(5)})), sentences.unpadded(padded), 1e-12);
  expect_close(run(join(std::array{causal(3), causal(5)})), sentences.unpadded(no_peek), 1e-12);
}

TEST(FromScratch, NormAddsEpsilonToTheDeviationOverNMinusOne) {
  Norm norm(4, NormKind::kStdNorm, 1e-6);
  convert_parameters(norm, at::kDouble);

  // The mean is 4 and the sum of squares is 9 + 1 + 1 + 9, so the deviation is sqrt(20 / 3).
  const at::Tensor result = norm(at::tensor({1.0, 3.0, 5.0, 7.0}).to(at::kDouble).view({1, 4}));

  const double unit = 1.0 / (std::sqrt(20.0 / 3.0) + 1e-6);
  expect_close(result, at::tensor({-3 * unit, -unit, unit, 3 * unit}).to(at::kDouble).view({1, 4}), 1e-12);
  expect_close(norm(at::full({1, 4}, 7.0, at::kDouble)), at::zeros({1, 4}, at::kDouble), 0.0);
}

TEST(FromScratch, BlockNormalisesAfterEachSumAndWidensFourTimes) {
  RandomStream random(1);
  const EncoderLayer block = randomised(transformer_block(6, 2, random));
  const at::Tensor x = random_tensor({5, 6}, 1);
  Pass pass = Pass::training(1);

  const at::Tensor attention = block.self_attention(complete(5), x, x, pass);
  const at::Tensor y = block.self_sublayer.norm(attention + x);
  const at::Tensor feed_forward = block.feed_forward.outer(block.feed_forward.inner(y).relu());
  const at::Tensor expected = block.feed_forward_sublayer.norm(feed_forward + y);

  expect_close(block(complete(5), x, pass), expected, 1e-12);
  EXPECT_EQ(block.feed_forward.inner.weight.sizes(), (Shape{24, 6}));
}

}  // namespace
}  // namespace edgewise
