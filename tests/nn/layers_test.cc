// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "edgewise/nn/embedding.h"
#include "edgewise/nn/linear.h"
#include "edgewise/nn/module.h"
#include "edgewise/nn/sublayer.h"
#include "edgewise/nn/transformer_layers.h"
#include "edgewise/positions/position_formula.h"
#include "tests/nn/tensors.h"

namespace edgewise {
namespace {

TEST(XavierUniform, DrawsUniformlyWithinItsBounds) {
  RandomStream random(1);

  const at::Tensor weight = xavier_uniform({60, 40}, 40, 60, random);

  const double bound = std::sqrt(6.0 / 100.0);
  EXPECT_LE(weight.abs().max().item<double>(), bound);
  EXPECT_GE(weight.abs().max().item<double>(), 0.99 * bound);
  EXPECT_NEAR(weight.mean().item<double>(), 0.0, 0.02);
  EXPECT_NEAR(weight.var().item<double>(), bound * bound / 3.0, 0.002);
  EXPECT_TRUE(weight.requires_grad() && weight.is_leaf());
}

TEST(NormalInit, DependsOnlyOnTheRandomStream) {
  RandomStream one(7);
  RandomStream same(7);
  RandomStream other(8);

  const at::Tensor first = normal_init({5, 3}, 1.0, one);

  EXPECT_TRUE(at::equal(first, normal_init({5, 3}, 1.0, same)));
  EXPECT_FALSE(at::equal(first, normal_init({5, 3}, 1.0, other)));
  EXPECT_FALSE(at::equal(first, normal_init({5, 3}, 1.0, one)));
}

TEST(Linear, MultipliesByItsWeightAndAddsItsBias) {
  RandomStream random(1);
  const Linear linear = randomised(Linear(3, 2, Bias::kZero, random));
  const at::Tensor x = random_tensor({4, 3}, 5);

  expect_close(linear(x), at::matmul(x, linear.weight.t()) + linear.bias, 1e-14);
}

TEST(Linear, StartsFromABiasOfZerosOrHasNone) {
  RandomStream random(1);

  EXPECT_TRUE(at::equal(Linear(3, 2, Bias::kZero, random).bias, at::zeros({2})));
  EXPECT_FALSE(Linear(3, 2, Bias::kNone, random).bias.defined());
}

TEST(Linear, NamesTheSizeItNeeds) {
  RandomStream random(1);
  const Linear linear(4, 2, Bias::kNone, random);

  EXPECT_EQ(error_of([&] { linear(at::zeros({3, 5})); }), "Linear: x is [3, 5], needs a last dimension of 4");
}

TEST(Norm, WithoutSizeHasNoParametersAndReturnsItsInput) {
  const at::Tensor x = random_tensor({4, 3}, 5);

  EXPECT_TRUE(Norm()(x).is_same(x));
  EXPECT_TRUE(parameters(Norm()).empty());
}

TEST(Norm, ScalesAndShiftsTheNormalisedRows) {
  const Norm norm = randomised(Norm(5, NormKind::kLayerNorm, 1e-5));
  const at::Tensor x = random_tensor({4, 5}, 5);

  const at::Tensor centred = x - x.mean(-1, /*keepdim=*/true);
  const at::Tensor variance = (centred * centred).mean(-1, /*keepdim=*/true);

  expect_close(norm(x), norm.gain * centred / (variance + 1e-5).sqrt() + norm.bias, 1e-13);
}

TEST(Sublayer, NormalisesItsInputOrTheSum) {
  LayerOptions options;
  options.size = 6;
  options.norm_placement = NormPlacement::kPre;
  const Sublayer pre = [&] {
    Sublayer s(options);
    s.norm = randomised(s.norm);
    return s;
  }();
  Sublayer post = pre;
  post.placement = NormPlacement::kPost;
  const at::Tensor x = random_tensor({3, 6}, 1);
  const at::Tensor y = random_tensor({3, 6}, 2);
  Pass pass = Pass::inference();

  expect_close(pre.prepare_input(x), pre.norm(x), 0.0);
  expect_close(pre.add_output(x, y, pass), x + y, 0.0);
  expect_close(post.prepare_input(x), x, 0.0);
  expect_close(post.add_output(x, y, pass), post.norm(x + y), 0.0);
}

TEST(Sublayer, KeepsTheResidualStreamInFp32AndMakesInputsInBf16) {
  for (const NormPlacement placement : {NormPlacement::kPre, NormPlacement::kPost}) {
    SCOPED_TRACE(enum_name(placement));
    LayerOptions options;
    options.size = 6;
    options.norm_placement = placement;
    options.dropout.residual = 0.0;
    const Sublayer sublayer(options);
    const Norm next = placement == NormPlacement::kPre ? sublayer.norm : Norm();
    const at::Tensor x = random_tensor({3, 6}, 1, at::kFloat);
    const at::Tensor y = random_tensor({3, 6}, 2, at::kBFloat16);
    Pass pass = Pass::training(1, Precision::kBf16);

    const NodeState state = sublayer.add_output(x, y, next, pass);

    const at::Tensor sum = x + y.to(at::kFloat);
    EXPECT_EQ(state.x_TM.scalar_type(), at::kFloat);
    EXPECT_EQ(state.input_TM.scalar_type(), at::kBFloat16);
    const at::Tensor normed = sublayer.norm(sum);
    expect_close(state.x_TM, placement == NormPlacement::kPre ? sum : normed, 1e-6);
    expect_close(state.input_TM.to(at::kFloat), normed, 0.02);
  }
}

TEST(Sublayer, DropsTheOutputOfTheFunctionAndNothingOfTheState) {
  LayerOptions options;
  options.size = 400;
  options.dropout.residual = 0.25;
  const Sublayer sublayer(options);
  Pass pass = Pass::training(3);

  const at::Tensor sum = sublayer.add_output(at::full({5, 400}, 10.0), at::ones({5, 400}), pass);

  const at::Tensor kept = sum > 10.5;
  EXPECT_TRUE(at::equal(sum, at::where(kept, at::full({}, 10.0f + 1.0f / 0.75f), at::full({}, 10.0f))));
  EXPECT_NEAR(kept.to(at::kDouble).mean().item<double>(), 0.75, 0.03);
}

LayerOptions feed_forward_options(std::int64_t inner_size, Activation activation, double dropout) {
  LayerOptions options;
  options.size = 4;
  options.feed_forward = inner_size;
  options.activation = activation;
  options.dropout.activation = dropout;
  return options;
}

/// Returns activation(x) / x.
at::Tensor activation_factor(const at::Tensor& x, Activation activation) {
  switch (activation) {
    case Activation::kRelu:
      return (x > 0).to(at::kDouble);
    case Activation::kGelu:
      return 0.5 * (1.0 + (x / std::sqrt(2.0)).erf());
    case Activation::kSilu:
      return x.sigmoid();
    case Activation::kGeluTanh:
      return 0.5 * (1.0 + (std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x.pow(3))).tanh());
  }
  return x;
}

TEST(FeedForward, IsTwoLinearLayersWithAnActivationBetween) {
  for (const auto& [activation, name] : enum_names(Activation{})) {
    RandomStream random(1);
    const FeedForward layer = randomised(FeedForward(feed_forward_options(7, activation, 0.0), random));
    const at::Tensor x = random_tensor({5, 4}, 2);
    Pass pass = Pass::inference();

    const at::Tensor hidden = layer.inner(x);
    expect_close(layer(x, pass), layer.outer(hidden * activation_factor(hidden, activation)), 1e-13);
  }
}

TEST(FeedForward, MultipliesByTheActivationOfAGate) {
  for (const auto& [activation, name] : enum_names(Activation{})) {
    for (const bool has_bias : {true, false}) {
      RandomStream random(1);
      LayerOptions options = feed_forward_options(7, activation, 0.0);
      options.feed_forward_gate = true;
      options.feed_forward_bias = has_bias;
      const FeedForward layer = randomised(FeedForward(options, random));
      EXPECT_EQ(parameters(layer).size(), has_bias ? 6 : 3);
      const at::Tensor x = random_tensor({5, 4}, 2);
      Pass pass = Pass::inference();

      const at::Tensor gate = layer.gate(x);
      const at::Tensor hidden = gate * activation_factor(gate, activation) * layer.inner(x);
      expect_close(layer(x, pass), layer.outer(hidden), 1e-13);
    }
  }
}

TEST(FeedForward, DropsItsActivationsWhileTraining) {
  RandomStream random(1);
  const FeedForward layer(feed_forward_options(64, Activation::kRelu, 0.5), random);
  const at::Tensor x = random_tensor({5, 4}, 2, at::kFloat);
  const auto run = [&](Pass pass) { return layer(x, pass); };

  EXPECT_TRUE(at::equal(run(Pass::training(1)), run(Pass::training(1))));
  EXPECT_FALSE(at::equal(run(Pass::training(1)), run(Pass::training(2))));
  EXPECT_FALSE(at::equal(run(Pass::training(1)), run(Pass::inference())));
}

TEST(DepthwiseConvolution, WeighsEachDimensionOfExistingNeighbours) {
  const DepthwiseConvolution layer = randomised(DepthwiseConvolution(4, NeighbourWindow::centred(3)));
  const at::Tensor x = random_tensor({3, 4}, 2);

  const at::Tensor result = layer(x, std::vector<NodeIndex>{kNoNode, 0, 2, /**/ 2, 1, kNoNode});

  expect_close(result[0], layer.weight_WM[1] * x[0] + layer.weight_WM[2] * x[2], 1e-13);
  expect_close(result[1], layer.weight_WM[0] * x[2] + layer.weight_WM[1] * x[1], 1e-13);
}

TEST(DepthwiseConvolution, StartsAsTheIdentity) {
  const DepthwiseConvolution layer(4, NeighbourWindow::causal(3));
  const at::Tensor x = random_tensor({3, 4}, 2, at::kFloat);

  EXPECT_TRUE(at::equal(layer(x, std::vector<NodeIndex>{0, 1, 2, /**/ kNoNode, kNoNode, 0}),
                        x.index_select(0, at::tensor({2, 0}))));
}

TEST(Embedding, ReturnsTheRowsOfItsTokensTimesItsScale) {
  RandomStream random(1);
  Embedding embedding(5, 3, EmbeddingInit::kXavier, random);
  embedding.scale = 2.0;
  const std::vector<std::int64_t> tokens = {4, 0, 4};

  const at::Tensor rows = embedding(tokens);

  EXPECT_TRUE(at::equal(rows[0], embedding.weight[4] * 2.0));
  EXPECT_TRUE(at::equal(rows[1], embedding.weight[0] * 2.0));
  EXPECT_TRUE(at::equal(rows[2], rows[0]));
  EXPECT_EQ(embedding(std::vector<std::int64_t>{}).sizes(), (std::vector<std::int64_t>{0, 3}));
}

TEST(Embedding, AddsPositionsAndDropsOnlyWhileTraining) {
  RandomStream random(1);
  Embedding embedding(5, 40, EmbeddingInit::kXavier, random);
  embedding.scale = 2.0;
  const PositionEncodings formula(40);
  const SidePositions table(formula);
  const std::vector<std::int64_t> tokens = {4, 0, 4};
  for (const std::vector<std::int64_t>& positions : {std::vector<std::int64_t>{0, 1, 7}, {70'000, 0, 123'456}}) {
    Pass inference = Pass::inference();
    const at::Tensor sum = embedding(tokens) + formula(positions, at::kFloat);
    EXPECT_TRUE(at::equal(embedding(tokens, table, positions, {.embedding = 0.5, .word = 0.5}, inference), sum));

    Pass training = Pass::training(3);
    const at::Tensor dropped = embedding(tokens, table, positions, {.embedding = 0.5}, training);
    EXPECT_TRUE(at::equal(dropped, Pass::training(3).dropout(sum, 0.5)));
  }
}

TEST(Embedding, CutsTheGivenShareOfTheSecondHalfsTokens) {
  RandomStream random(1);
  const Embedding embedding(5, 4, EmbeddingInit::kXavier, random);
  const std::vector<std::int64_t> tokens(4000, 3);
  const auto rows = [&](double cut) {
    Pass pass = Pass::training(7);
    pass.set_cut(cut);
    return embedding(tokens, {}, pass);
  };

  EXPECT_TRUE(at::equal(rows(0), embedding(tokens)));
  const at::Tensor is_cut_T = (rows(0.25) == 0).all(1);
  EXPECT_TRUE(at::equal(rows(0.25), embedding(tokens) * is_cut_T.logical_not().unsqueeze(1)));
  EXPECT_FALSE(is_cut_T.narrow(0, 0, 2000).any().item<bool>());
  EXPECT_NEAR(is_cut_T.sum().item<double>() / 2000, 0.25, 0.03);
  EXPECT_TRUE(at::equal(rows(0.25), rows(0.25)));
}

TEST(Embedding, StartsFromRowsOfLengthAboutOneWhenNormal) {
  RandomStream random(1);

  const Embedding embedding(50, 400, EmbeddingInit::kNormal, random);

  EXPECT_NEAR(embedding.weight.norm(2, -1).mean().item<double>(), 1.0, 0.02);
}

TEST(Embedding, NamesATokenOutsideOfTheTable) {
  RandomStream random(1);
  const Embedding embedding(5, 3, EmbeddingInit::kXavier, random);
  const auto look_up = [&](std::vector<std::int64_t> tokens) { return error_of([&] { embedding(tokens); }); };

  EXPECT_EQ(look_up({1, 5}), "embed: token 1 is 5, needs a number from 0 to 4");
  EXPECT_EQ(look_up({-1}), "embed: token 0 is -1, needs a number from 0 to 4");
}

// Computes one element by the formulas of the papers and of the programs whose models have these positions.
double expected_position(std::int64_t position, std::int64_t j, std::int64_t size, PositionKind kind) {
  const auto angle = [](std::int64_t at, double exponent) {
    return static_cast<double>(at) / std::pow(10000.0, exponent);
  };
  const auto n = static_cast<double>(size);
  const std::int64_t half = size / 2;
  switch (kind) {
    case PositionKind::kSinusoidal:
    case PositionKind::kFromScratch: {
      const std::int64_t i = kind == PositionKind::kSinusoidal ? j / 2 : j;
      const double alternating = angle(position, static_cast<double>(2 * i) / n);
      return j % 2 == 0 ? std::sin(alternating) : std::cos(alternating);
    }
    case PositionKind::kHalves: {
      // The table of alternating sines and cosines, first its even and then its odd columns.
      const std::int64_t sines = (size + 1) / 2;
      const std::int64_t column = j < sines ? 2 * j : 2 * (j - sines) + 1;
      const double in_column = angle(position, static_cast<double>(2 * (column / 2)) / n);
      return j < sines ? std::sin(in_column) : std::cos(in_column);
    }
    case PositionKind::kMarian:
    case PositionKind::kFairseq: {
      if (j == 2 * half) return 0;
      const std::int64_t shifted = kind == PositionKind::kFairseq ? position + 2 : position;
      const double of_pair = angle(shifted, static_cast<double>(j % half) / static_cast<double>(half - 1));
      return j < half ? std::sin(of_pair) : std::cos(of_pair);
    }
    default:  // has no formula
      break;
  }
  return std::nan("");
}

TEST(PositionEncodings, FollowTheFormulaForAnySizeAndPosition) {
  const std::vector<std::int64_t> positions = {0, 1, 2, 79, 80, 5, 4999, 65535, 65536, 123456789};
  for (const auto& [kind, name] : enum_names(PositionKind{})) {
    if (!has_formula(kind)) continue;
    for (const std::int64_t size : {1, 2, 4, 5, 20, 21}) {
      if (size < smallest_position_size(kind)) continue;
      SCOPED_TRACE(testing::Message() << name << ", size " << size);

      const at::Tensor vectors = PositionEncodings(size, kind)(positions, at::kDouble);

      for (std::size_t t = 0; t < positions.size(); ++t) {
        for (std::int64_t j = 0; j < size; ++j) {
          EXPECT_NEAR(vectors[static_cast<std::int64_t>(t)][j].item<double>(),
                      expected_position(positions[t], j, size, kind), 1e-7 + 1e-15 * static_cast<double>(positions[t]))
              << "position " << positions[t] << ", dimension " << j;
        }
      }
    }
  }
}

TEST(PositionEncodings, HaveTheMirroredPositionInTheirSecondHalf) {
  const std::vector<std::int64_t> positions = {0, 3, 70'000};
  const std::vector<std::int64_t> mirrored = {5, 3, 1};
  TransformerOptions options;
  options.size = 12;
  options.mirror_positions = true;
  for (const PositionKind kind : {PositionKind::kSinusoidal, PositionKind::kFairseq}) {
    options.positions = kind;
    const PositionEncodings whole(PositionFormula::of_model(options));
    const PositionEncodings half(6, kind);

    const at::Tensor expected = at::cat({half(positions, at::kDouble), half(mirrored, at::kDouble)}, 1);
    expect_close(whole(positions, at::kDouble, mirrored), expected, 0.0);
    expect_close(whole(positions, at::kDouble), whole(positions, at::kDouble, positions), 0.0);

    const PositionRows rows = SidePositions(whole).rows(positions, at::kDouble, mirrored);
    expect_close(rows.table_PM.index_select(0, at::tensor(rows.rows)), expected, 0.0);
  }
}

// Positions 0 and 3, computed in Python as transformers' MarianSinusoidalPositionalEmbedding, Marian's
// SinusoidalPositionEmbeddings and transformers' M2M100SinusoidalPositionalEmbedding compute them.
TEST(PositionEncodings, AreThoseOfMarianMtMarianAndM2m100) {
  const std::vector<std::int64_t> positions = {0, 3};
  const std::vector<double> marian_mt = {0,           0,           0,           1,           1,           1,
                                         0.141120008, 0.138798101, 0.006463259, -0.98999250, 0.990320699, 0.999979113};
  const std::vector<double> marian = {0, 0, 1, 1, 0, 0.141120008, 0.0003, -0.98999250, 0.999999955, 0};
  const std::vector<double> m2m100 = {0.909297427,  0.0002, -0.416146837, 0.99999998,  0,
                                      -0.958924275, 0.0005, 0.283662185,  0.999999875, 0};
  const auto values = [&](std::int64_t size, PositionKind kind) {
    return PositionEncodings(size, kind)(positions, at::kDouble).flatten();
  };
  expect_close(values(6, PositionKind::kHalves), at::tensor(marian_mt), 1e-8);
  expect_close(values(5, PositionKind::kMarian), at::tensor(marian), 1e-8);
  expect_close(values(5, PositionKind::kFairseq), at::tensor(m2m100), 1e-8);
}

TEST(PositionEncodings, DoNotDependOnEarlierCalls) {
  const PositionEncodings grown(6);
  const PositionEncodings fresh(6);
  const std::vector<std::int64_t> few = {2, 0};
  const std::vector<std::int64_t> many = {40, 3, 700};

  grown(few, at::kFloat);

  EXPECT_TRUE(at::equal(grown(many, at::kFloat), fresh(many, at::kFloat)));
  expect_close(grown(few, at::kFloat), grown(few, at::kDouble).to(at::kFloat), 0.0);
}

TEST(PositionEncodings, NameANegativePosition) {
  const std::vector<std::int64_t> positions = {0, -3};

  EXPECT_EQ(error_of([&] { PositionEncodings(4)(positions, at::kFloat); }),
            "Positions: position 1 is -3, needs 0 or more");
}

TEST(SidePositions, AreTheRowsOfATrainedTable) {
  RandomStream random(1);
  const SidePositions table(6, 3, EmbeddingInit::kNormal, random);
  const std::vector<std::int64_t> positions = {5, 0, 5};

  const PositionRows rows = table.rows(positions, at::kFloat);

  EXPECT_TRUE(rows.table_PM.is_same(table.weight));
  EXPECT_EQ(rows.rows, positions);
  EXPECT_TRUE(table.weight.requires_grad());
  EXPECT_EQ(table.weight.sizes(), (at::IntArrayRef{6, 3}));
}

TEST(SidePositions, NameAPositionThatTheTableDoesNotHave) {
  RandomStream random(1);
  const SidePositions table(6, 3, EmbeddingInit::kXavier, random);
  const auto look_up = [&](std::vector<std::int64_t> positions) {
    return error_of([&] { table.rows(positions, at::kFloat); });
  };

  EXPECT_EQ(look_up({0, 6}),
            "Positions: a sentence has position 6, needs positions below model.max_positions, which is 6; shorten the "
            "sentence, for training by data.max_length");
  EXPECT_EQ(look_up({0, -1}), "Positions: position 1 is -1, needs 0 or more");
}

TEST(Pass, GivesEachDropoutItsOwnRandomNumbersDeterminedByTheSeed) {
  const at::Tensor x = at::ones({200});
  Pass pass = Pass::training(1);
  Pass same = Pass::training(1);
  Pass inference = Pass::inference();

  const at::Tensor first = pass.dropout(x, 0.5);
  const at::Tensor second = pass.dropout(x, 0.5);

  EXPECT_FALSE(at::equal(first, second));
  EXPECT_TRUE(at::equal(first, same.dropout(x, 0.5)));
  EXPECT_TRUE(inference.dropout(x, 0.5).is_same(x));
}

}  // namespace
}  // namespace edgewise
