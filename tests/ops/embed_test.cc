// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/embed.h"

#include <gmock/gmock.h>

#include <optional>

#include "edgewise/kernels/simd/instruction_set.h"
#include "edgewise/ops/gradients_in_place.h"
#include "tests/ops/tensors.h"
#include "tests/support/emulated_kernels.h"
#include "tests/support/gradient_check.h"

namespace edgewise {
namespace {

using Indices = std::vector<std::int64_t>;

const Indices kTokens = {2, 0, kNoToken, 6, 2, 5};
const Indices kPositions = {0, 1, 2, 0, 1, 3};

TEST(Embed, MatchesItsDefinitionInOutputAndGradient) {
  for (const auto set : kernels::runnable_instruction_sets()) {
    const kernels::ForcedInstructionSet forced(set);
    SCOPED_TRACE(kernels::instruction_set_name(set));
    for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
      for (const auto& [dropout, word_dropout] : {std::pair{0.0, 0.0}, {0.4, 0.0}, {0.0, 0.5}, {0.4, 0.5}}) {
        const EmbedOptions options = {.scale = 1.5,
                                      .dropout = dropout,
                                      .dropout_key = {1, 2},
                                      .word_dropout = word_dropout,
                                      .word_dropout_key = {1, 3}};
        const at::Tensor table = normal({4, 20}, 2, type);
        expect_same_function([&](const Tensors& x) { return embed(x[0], kTokens, table, kPositions, options); },
                             [&](const Tensors& x) { return embed_plain(x[0], kTokens, table, kPositions, options); },
                             {normal({20, 7}, 1, type).t()});
        expect_same_function([&](const Tensors& x) { return embed(x[0], kTokens, x[1], kPositions, options); },
                             [&](const Tensors& x) { return embed_plain(x[0], kTokens, x[1], kPositions, options); },
                             {normal({7, 20}, 1, type), normal({20, 4}, 2, type).t()});
        expect_same_function([&](const Tensors& x) { return embed(x[0], kTokens, {}, {}, options); },
                             [&](const Tensors& x) { return embed_plain(x[0], kTokens, {}, {}, options); },
                             {normal({7, 20}, 1, type)});
      }
    }
  }
}

TEST(Embed, HasGradientsThatMatchFiniteDifferences) {
  const EmbedOptions options = {
      .scale = 2.0, .dropout = 0.3, .dropout_key = {1, 2}, .word_dropout = 0.3, .word_dropout_key = {1, 3}};
  const at::Tensor table = normal({4, 3}, 2);
  expect_gradients_match([&](const Tensors& x) { return embed(x[0], kTokens, table, kPositions, options); },
                         {normal({7, 3}, 1)});
  expect_gradients_match([&](const Tensors& x) { return embed(x[0], kTokens, x[1], kPositions, options); },
                         {normal({7, 3}, 1), table});
  expect_gradients_match(
      [&](const Tensors& x) {
        return embed(normal({7, 3}, 1), kTokens, x[0], kPositions, options);
      },
      {table});
}

TEST(Embed, DropsWholeTokensWithTheGivenProbabilityAndKeepsTheMean) {
  const Indices tokens(4000, 3);
  const at::Tensor out_TM =
      embed(at::ones({4, 5}).to(test_device()), tokens, {}, {}, {.word_dropout = 0.25, .word_dropout_key = {1, 2}});

  const at::Tensor token_factor_T = out_TM.select(1, 0);
  EXPECT_TRUE(at::equal(out_TM, token_factor_T.unsqueeze(1).expand({4000, 5})));
  EXPECT_NEAR((token_factor_T == 0).sum().item<double>() / 4000, 0.25, 0.03);
  EXPECT_NEAR(token_factor_T.mean().item<double>(), 1.0, 0.04);
}

TEST(Embed, GivesATokenThatIsCutItsPositionVectorAlone) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const Tensors tables = {normal({7, 20}, 1, type), normal({4, 20}, 2, type)};
    const Indices all = {2, 0, 2};
    const Indices cut = {2, kNoToken, kNoToken};
    const Indices positions = {0, 1, 2};
    const auto with = [&](const Indices& tokens) {
      return output_and_gradients([&](const Tensors& x) { return embed(x[0], tokens, x[1], positions); }, tables);
    };
    const Tensors expected = with(all);
    const Tensors actual = with(cut);
    EXPECT_TRUE(at::equal(actual[0][0], expected[0][0]));
    EXPECT_TRUE(at::equal(actual[0].narrow(0, 1, 2), tables[1].narrow(0, 1, 2).to(actual[0].scalar_type())));
    EXPECT_EQ(actual[1][0].abs().sum().item<double>(), 0);
    EXPECT_TRUE(at::equal(actual[2], expected[2]));
  }
  EXPECT_EQ(error_of([] {
              embed(at::zeros({0, 3}).to(test_device()), Indices{kNoToken}, {}, {});
            }),
            "embed: token 0 is -9223372036854775808, needs a number from 0 to -1");
}

TEST(Embed, WithoutTokensHasNoRowsAndAGradientOfZeros) {
  const auto result =
      output_and_gradients([](const Tensors& x) { return embed(x[0], {}, {}, {}); }, {normal({7, 3}, 1)});

  EXPECT_EQ(result[0].sizes(), (at::IntArrayRef{0, 3}));
  EXPECT_TRUE(at::equal(result[1], at::zeros({7, 3}, at::kDouble).to(test_device())));
}

TEST(Embed, AddsToTheExistingGradientsOfItsTables) {
  const auto gradients_after_two_passes = [](bool in_place) {
    const at::Tensor weight = normal({7, 20}, 1, at::kFloat).requires_grad_();
    const at::Tensor table = normal({4, 20}, 3, at::kFloat).requires_grad_();
    for (int pass = 0; pass < 2; ++pass) {
      std::optional<GradientsInPlaceGuard> guard;
      if (in_place) guard.emplace();
      (embed(weight, kTokens, table, kPositions) * normal({6, 20}, 2, at::kFloat)).sum().backward();
    }
    return Tensors{weight.grad(), table.grad()};
  };

  const Tensors in_place = gradients_after_two_passes(true);
  const Tensors apart = gradients_after_two_passes(false);
  expect_close(in_place[0], apart[0], "gradient of the weight");
  expect_close(in_place[1], apart[1], "gradient of the table");
}

TEST(Embed, CallsTheKernelsForGpus) {
  if (!has_emulator()) GTEST_SKIP() << "a build with CUDA has no emulator";
  const auto run = [] {
    return output_and_gradients([](const Tensors& x) { return embed(x[0], kTokens, x[1], kPositions, {.scale = 3}); },
                                {normal({7, 20}, 1, at::kFloat), normal({4, 20}, 2, at::kFloat)});
  };
  Tensors actual;
  EXPECT_THAT(launched_kernels([&] { actual = run(); }), testing::ElementsAre("embed_backward", "embed_forward"));
  const Tensors expected = run();
  for (std::size_t i = 0; i < expected.size(); ++i) expect_close(actual[i], expected[i], result_name(i));
}

}  // namespace
}  // namespace edgewise
