// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/projected_loss.h"

#include <functional>
#include <limits>
#include <string>

#include "edgewise/kernels/gemm/gemm_onednn.h"
#include "edgewise/kernels/gemm/gemm_parts.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "edgewise/ops/backend.h"
#include "tests/ops/allocation_counter.h"
#include "tests/ops/tensors.h"
#include "tests/support/gradient_check.h"

namespace edgewise {
namespace {

std::vector<LossOptions> projected_loss_options() {
  return {{}, {.smoothing = 0.1}, {.smoothing = 0.1, .ignored = 0}, {.smoothing = 0.3, .ignored = 3}};
}

Tensors loss_arguments(std::int64_t tokens, std::int64_t size, std::int64_t words, at::ScalarType type) {
  const at::ScalarType parameter_type = type == at::kDouble ? at::kDouble : at::kFloat;
  return {normal({tokens, size}, 1, type), normal({words, size}, 2, parameter_type),
          normal({words}, 3, parameter_type)};
}

at::Tensor make_labels(std::int64_t tokens, std::int64_t words) {
  return (at::arange(tokens, at::kLong) * 7 + 2).remainder(words).to(test_device());
}

/// The tolerance. In bf16, gradients of logits are rounded before they are summed, and gradients of states after.
double allowed_of_loss(at::ScalarType type) { return type == at::kBFloat16 ? 2e-2 : 2e-5; }

void expect_same(const Tensors& actual, const Tensors& expected, double tolerance) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    expect_close(actual[i].to(at::kDouble), expected[i].to(at::kDouble),
                 i == 0 ? "loss" : "gradient of input " + std::to_string(i - 1), tolerance);
  }
}

using Loss = std::function<BatchLoss(const Tensors&, const at::Tensor& labels_T)>;

/// Tests every instruction set and type, and sizes around the tile size.
void expect_same_losses(const Loss& loss, const Loss& definition, bool has_repeated_labels) {
  for (const kernels::InstructionSet set : kernels::runnable_instruction_sets()) {
    const kernels::ForcedInstructionSet forced(set);
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kDouble}) {
      for (const auto& [tokens, size, words] :
           {std::array{0, 4, 5}, {2, 1, 4}, {8, 16, 33}, {30, 12, 64}, {254, 8, 40}, {300, 12, 64}, {600, 5, 17}}) {
        if (tokens > 30 && backend_of(at::zeros({1})) == Backend::kGpu) continue;  // the emulator would take minutes
        SCOPED_TRACE(std::string(kernels::instruction_set_name(set)) + ", " + at::toString(type) + ", tokens " +
                     std::to_string(tokens));
        const at::Tensor labels_T =
            has_repeated_labels ? make_labels(tokens / 2, words).repeat({2}) : make_labels(tokens, words);
        const Tensors inputs = loss_arguments(tokens, size, words, type);
        std::int64_t correct[2];
        const auto by = [&](const Loss& which, std::int64_t& count) {
          return output_and_gradients(
              [&](const Tensors& x) {
                const BatchLoss found = which(x, labels_T);
                count = found.sums().correct;
                return found.objective;
              },
              inputs);
        };

        expect_same(by(loss, correct[0]), by(definition, correct[1]), allowed_of_loss(type));
        EXPECT_EQ(correct[0], correct[1]);
      }
    }
  }
}

TEST(ProjectedLoss, MatchesItsDefinitionForEveryInstructionSet) {
  for (const LossOptions& options : projected_loss_options()) {
    SCOPED_TRACE(options.ignored);
    expect_same_losses([&](const Tensors& x,
                           const at::Tensor& labels_T) { return projected_loss(x[0], x[1], x[2], labels_T, options); },
                       [&](const Tensors& x, const at::Tensor& labels_T) {
                         return projected_loss_plain(x[0], x[1], x[2], labels_T, options);
                       },
                       false);
  }
}

constexpr Consistency kRDrop = {kernels::ConsistencyKind::kRDrop, 2.5};
constexpr Consistency kSimCut = {kernels::ConsistencyKind::kSimCut, 2.5};

TEST(ProjectedConsistencyLoss, MatchesItsDefinitionForEveryInstructionSet) {
  for (const LossOptions& options : projected_loss_options()) {
    for (const Consistency& consistency : {kRDrop, kSimCut}) {
      SCOPED_TRACE(options.ignored);
      expect_same_losses(
          [&](const Tensors& x, const at::Tensor& labels_T) {
            return projected_consistency_loss(x[0], x[1], x[2], labels_T, consistency, options);
          },
          [&](const Tensors& x, const at::Tensor& labels_T) {
            return projected_consistency_loss_plain(x[0], x[1], x[2], labels_T, consistency, options);
          },
          true);
    }
  }
}

TEST(ProjectedConsistencyLoss, HasGradientsThatMatchFiniteDifferences) {
  for (const LossOptions& options : projected_loss_options()) {
    for (const Consistency& consistency : {kRDrop, kSimCut}) {
      expect_gradients_match(
          [&](const Tensors& x) {
            return projected_consistency_loss(x[0], x[1], x[2], make_labels(3, 6).repeat({2}), consistency, options)
                .objective;
          },
          loss_arguments(6, 3, 6, at::kDouble));
    }
  }
}

TEST(ProjectedConsistencyLoss, EqualsTheLossOfTheCountedPassesWhenTheyAgree) {
  const Tensors x = loss_arguments(40, 6, 30, at::kFloat);
  const at::Tensor state = x[0].repeat({2, 1});
  const at::Tensor labels_T = make_labels(40, 30).repeat({2});
  const auto sums = [&](const Consistency& consistency) {
    return projected_consistency_loss(state, x[1], x[2], labels_T, consistency, {.smoothing = 0.1}).sums();
  };

  const LossSums once = projected_loss(x[0], x[1], x[2], make_labels(40, 30), {.smoothing = 0.1}).sums();

  EXPECT_NEAR(sums(kRDrop).loss, 2 * once.loss, 1e-3);
  EXPECT_NEAR(sums(kSimCut).loss, once.loss, 1e-3);
  EXPECT_EQ(sums(kRDrop).tokens, 80);
  EXPECT_EQ(sums(kSimCut).tokens, 40);
  EXPECT_EQ(sums(kRDrop).correct, 2 * once.correct);
  EXPECT_EQ(sums(kSimCut).correct, once.correct);
}

TEST(ProjectedConsistencyLoss, CountsTheSamePassesWithAWeightOfZero) {
  const Tensors x = loss_arguments(8, 6, 30, at::kFloat);
  const at::Tensor labels_T = make_labels(4, 30).repeat({2});
  for (Consistency consistency : {kRDrop, kSimCut}) {
    consistency.weight = 0;
    const LossSums fused = projected_consistency_loss(x[0], x[1], x[2], labels_T, consistency).sums();
    const LossSums plain = projected_consistency_loss_plain(x[0], x[1], x[2], labels_T, consistency).sums();
    EXPECT_EQ(fused.tokens, consistency.kind == kernels::ConsistencyKind::kSimCut ? 4 : 8);
    EXPECT_EQ(plain.tokens, fused.tokens);
    EXPECT_NEAR(fused.loss, plain.loss, 1e-4);
  }
}

TEST(ProjectedConsistencyLoss, NamesArgumentsThatDoNotFit) {
  const at::Tensor state = at::zeros({3, 5}).to(test_device());
  const at::Tensor weight = at::zeros({4, 5}).to(test_device());
  const auto error = [&](const at::Tensor& labels_T, double alpha) {
    return error_of([&] {
      projected_consistency_loss(state.narrow(0, 0, labels_T.size(0)), weight, {}, labels_T, {.weight = alpha});
    });
  };
  EXPECT_EQ(error(at::zeros({3}, at::kLong).to(test_device()), 1),
            "projected_consistency_loss: labels are 3, needs an even number: two passes' tokens");
  EXPECT_EQ(
      error(at::tensor({0, 1}, at::kLong).to(test_device()), 1),
      "projected_consistency_loss: labels of the second half differ from those of the first, needs the same tokens "
      "twice");
  EXPECT_EQ(error(at::zeros({2}, at::kLong).to(test_device()), -1),
            "projected_consistency_loss: weight is -1, needs 0 or more");
}

TEST(ProjectedLoss, MatchesItsDefinitionInBFloat16WithAndWithoutNativeInstructions) {
  for (const bool is_native : {false, true}) {
    if (is_native && !kernels::onednn::has_bf16()) continue;
    SCOPED_TRACE(is_native);
    const kernels::cpu::ForcedNativeBf16 forced(is_native);
    const Tensors inputs = loss_arguments(530, 12, 64, at::kBFloat16);
    const auto by = [&](const auto& loss) {
      return output_and_gradients(
          [&](const Tensors& x) { return loss(x[0], x[1], x[2], make_labels(530, 64), {.smoothing = 0.1}).objective; },
          inputs);
    };

    expect_same(by(projected_loss), by(projected_loss_plain), allowed_of_loss(at::kBFloat16));
  }
}

TEST(ProjectedLoss, NeedsNoBias) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kDouble}) {
    Tensors inputs = loss_arguments(20, 6, 9, type);
    inputs.pop_back();
    expect_same(output_and_gradients(
                    [](const Tensors& x) {
                      return projected_loss(x[0], x[1], {}, make_labels(20, 9), {.smoothing = 0.1}).objective;
                    },
                    inputs),
                output_and_gradients(
                    [](const Tensors& x) {
                      return projected_loss_plain(x[0], x[1], {}, make_labels(20, 9), {.smoothing = 0.1}).objective;
                    },
                    inputs),
                allowed_of_loss(type));
  }
}

TEST(ProjectedLoss, HasGradientsThatMatchFiniteDifferences) {
  for (const LossOptions& options : projected_loss_options()) {
    expect_gradients_match(
        [&](const Tensors& x) { return projected_loss(x[0], x[1], x[2], make_labels(5, 6), options).objective; },
        loss_arguments(5, 3, 6, at::kDouble));
  }
}

TEST(ProjectedLoss, ScalesItsGradientsByTheGradientOfTheLoss) {
  const Tensors x = loss_arguments(30, 5, 11, at::kFloat);
  const at::Tensor state = x[0].clone().requires_grad_();
  const auto loss = [&] { return projected_loss(state, x[1], x[2], make_labels(30, 11)).objective; };

  const at::Tensor gradient = torch::autograd::grad({loss()}, {state})[0];
  const at::Tensor scaled = torch::autograd::grad({loss() * -0.5}, {state})[0];

  EXPECT_TRUE(scaled.equal(gradient * -0.5));
}

TEST(ProjectedLoss, CountsTheFirstOfEquallyLikelyTokens) {
  const at::Tensor state = at::zeros({3, 2}).to(test_device());
  const at::Tensor weight = at::zeros({4, 2}).to(test_device());

  EXPECT_EQ(projected_loss(state, weight, {}, at::tensor({0, 1, 0}, at::kLong).to(test_device())).sums().correct, 2);
  EXPECT_EQ(projected_loss(state, weight, {}, at::tensor({0, 1, 0}, at::kLong).to(test_device()), {.ignored = 0})
                .sums()
                .correct,
            0);
}

TEST(ProjectedLoss, DoesNotOverflowOnLogitsOfTenThousand) {
  const at::Tensor state = at::full({1, 1}, 1e4f).to(test_device());
  const at::Tensor weight = at::tensor({1.0f, -1.0f, 0.5f}).to(test_device()).unsqueeze(1);

  EXPECT_EQ(projected_loss(state, weight, {}, at::tensor({0}, at::kLong).to(test_device())).objective.item<float>(),
            0.0f);
  EXPECT_EQ(projected_loss(state, weight, {}, at::tensor({1}, at::kLong).to(test_device())).objective.item<float>(),
            2e4f);
}

TEST(ProjectedLoss, IsNotANumberForAStateThatIsNotANumber) {
  Tensors x = loss_arguments(9, 5, 20, at::kFloat);
  x[0][4][2] = std::numeric_limits<float>::quiet_NaN();

  const Tensors result = output_and_gradients(
      [](const Tensors& t) { return projected_loss(t[0], t[1], t[2], make_labels(9, 20)).objective; }, x);

  EXPECT_TRUE(result[0].isnan().item<bool>());
  EXPECT_TRUE(result[1][4].isnan().all().item<bool>());
}

TEST(ProjectedLoss, GivesTheSameBitsTwice) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const auto run = [&] {
      return output_and_gradients(
          [](const Tensors& x) {
            return projected_loss(x[0], x[1], x[2], make_labels(530, 40), {.smoothing = 0.1}).objective;
          },
          loss_arguments(530, 24, 40, type));
    };
    const Tensors first = run();
    const Tensors second = run();
    for (std::size_t i = 0; i < first.size(); ++i) EXPECT_TRUE(first[i].equal(second[i])) << i;
  }
}

TEST(ProjectedLoss, MatchesItsDefinitionOverManyTiles) {
  constexpr std::int64_t kManyTokens = 4600;
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const Tensors inputs = loss_arguments(kManyTokens, 4, 6, type);
    const at::Tensor labels_T = make_labels(kManyTokens / 2, 6).repeat({2});
    const auto by = [&](const auto& loss, const auto&... weight) {
      return output_and_gradients(
          [&](const Tensors& x) {
            return loss(x[0], x[1], x[2], labels_T, weight..., {.smoothing = 0.1, .ignored = 1}).objective;
          },
          inputs);
    };

    expect_same(by(projected_loss), by(projected_loss_plain), allowed_of_loss(type));
    for (const Consistency& consistency : {kRDrop, kSimCut}) {
      expect_same(by(projected_consistency_loss, consistency), by(projected_consistency_loss_plain, consistency),
                  allowed_of_loss(type));
    }
  }
}

TEST(ProjectedLoss, HoldsOneTileOfLogitsAtATime) {
  constexpr std::int64_t kWords = 2000;
  constexpr std::int64_t kSize = 8;
  const auto peak_for = [](std::int64_t tokens) {
    const Tensors x = loss_arguments(tokens, kSize, kWords, at::kFloat);
    const at::Tensor state = x[0].clone().requires_grad_();
    const at::Tensor weight = x[1].clone().requires_grad_();
    const at::Tensor labels_T = make_labels(tokens, kWords);
    return peak_allocation([&] { projected_loss(state, weight, x[2], labels_T).objective.backward(); });
  };
  peak_for(300);  // allocates the buffers that threads keep

  const std::int64_t growth = peak_for(4000) - peak_for(1000);

  const std::int64_t gradients_of_state = 3000 * kSize * 4;
  EXPECT_LT(growth, 3 * gradients_of_state);
  EXPECT_LT(growth, 3000 * kWords * 4 / 50);
}

TEST(ProjectedLoss, NamesArgumentsThatDoNotFit) {
  const at::Tensor state = at::zeros({3, 5}).to(test_device());
  const at::Tensor weight = at::zeros({4, 5}).to(test_device());
  const at::Tensor labels_T = at::zeros({3}, at::kLong).to(test_device());
  EXPECT_EQ(error_of([&] {
              projected_loss(state, at::zeros({4, 6}).to(test_device()), {}, labels_T);
            }),
            "projected_loss: state is [3, 5], needs a last dimension of 6");
  EXPECT_EQ(error_of([&] { projected_loss(state[0], weight, {}, labels_T); }),
            "projected_loss: state is [5], needs 2 dimensions: tokens, size");
  EXPECT_EQ(error_of([&] { projected_loss(state, weight, {}, labels_T + 4); }),
            "projected_loss: labels hold 4, but logits have 4 words, needs 0 to 3");
  EXPECT_EQ(error_of([&] { projected_loss(state, weight, {}, labels_T, {.smoothing = 2}); }),
            "projected_loss: smoothing is 2, needs 0 to 1");
}

}  // namespace
}  // namespace edgewise
