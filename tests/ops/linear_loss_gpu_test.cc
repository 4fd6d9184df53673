// SPDX-License-Identifier: Apache-2.0
// Linear layers and losses have the bits of the kernels for GPUs, which the emulator runs.
#include <optional>

#include "edgewise/kernels/gemm/activation.h"
#include "edgewise/kernels/gemm/linear_gradient.h"
#include "edgewise/kernels/loss/logits_tile.h"
#include "edgewise/kernels/loss/softmax_loss.h"
#include "edgewise/ops/backend.h"
#include "edgewise/ops/linear.h"
#include "edgewise/ops/loss.h"
#include "edgewise/ops/loss_tiles.h"
#include "edgewise/ops/matrix_product.h"
#include "edgewise/ops/projected_loss.h"
#include "tests/ops/allocation_counter.h"
#include "tests/ops/tensors.h"

namespace edgewise {
namespace {

using kernels::GemmActivation;

class LinearLossGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (backend_of(at::zeros({1})) != Backend::kGpu) GTEST_SKIP() << "needs EDGEWISE_OPERATIONS=cuda-emulated";
  }
};

struct ActivationCase {
  std::optional<Activation> activation;
  GemmActivation kernel;
};

constexpr ActivationCase kActivationCases[] = {{std::nullopt, GemmActivation::kNone},
                                               {Activation::kRelu, GemmActivation::kRelu},
                                               {Activation::kGelu, GemmActivation::kGelu},
                                               {Activation::kSilu, GemmActivation::kSilu},
                                               {Activation::kGeluTanh, GemmActivation::kGeluTanh}};

TEST_F(LinearLossGpu, LinearHasTheBitsOfTheKernelsForActivationsAndDropout) {
  constexpr std::int64_t kRows = 300;
  constexpr std::int64_t kColumns = 44;
  const at::Tensor x = normal({kRows, 20}, 1, at::kFloat);
  const at::Tensor weight = normal({kColumns, 20}, 2, at::kFloat);
  const at::Tensor bias = normal({kColumns}, 3, at::kFloat).requires_grad_();
  const at::Tensor grad_out = normal({kRows, kColumns}, 4, at::kFloat);
  const at::Tensor argument = linear(x, weight, bias.detach());
  for (const auto& [activation, kernel] : kActivationCases) {
    SCOPED_TRACE(static_cast<int>(kernel));
    const at::Tensor out =
        linear(x, weight, bias, {.activation = activation, .dropout = 0.3, .dropout_key = {.seed = 3, .stream = 5}});
    const at::Tensor grad_bias = torch::autograd::grad({out}, {bias}, {grad_out})[0];

    const kernels::Dropout dropout = {0.3, 3, 5};
    at::Tensor expected = at::empty_like(argument);
    kernels::activate(kernels::ActivationForward<float>{.activation = kernel,
                                                        .count = argument.numel(),
                                                        .x = argument.const_data_ptr<float>(),
                                                        .out = expected.mutable_data_ptr<float>(),
                                                        .dropout = dropout},
                      {});
    EXPECT_TRUE(out.equal(expected));

    at::Tensor expected_grad_bias = at::zeros({kColumns});
    at::Tensor workspace = at::empty({kernels::gradient_workspace_size(kRows, kColumns)});
    kernels::ActivationGradient<float> gradient;
    gradient.activation = kernel;
    gradient.rows = kRows;
    gradient.columns = kColumns;
    gradient.grad_out = grad_out.const_data_ptr<float>();
    const at::Tensor& saved = kernel == GemmActivation::kRelu ? expected : argument;
    gradient.saved = kernel == GemmActivation::kNone ? nullptr : saved.const_data_ptr<float>();
    gradient.dropout = dropout;
    gradient.grad_x = nullptr;
    gradient.grad_bias = expected_grad_bias.mutable_data_ptr<float>();
    kernels::activation_gradient(gradient, workspace.mutable_data_ptr<float>(), {});
    EXPECT_TRUE(grad_bias.equal(expected_grad_bias));
  }
}

TEST_F(LinearLossGpu, SmoothedLossHasTheBitsOfTheKernel) {
  constexpr std::int64_t kRows = 9;
  constexpr std::int64_t kColumns = 1000;
  const LossOptions options = {.smoothing = 0.1, .ignored = 3};
  const at::Tensor logits = normal({kRows, kColumns}, 1, at::kFloat).requires_grad_();
  const at::Tensor labels = at::arange(kRows, at::kLong);

  const at::Tensor loss = smoothed_loss(logits, labels, options);
  const at::Tensor gradient = torch::autograd::grad({loss}, {logits})[0];

  at::Tensor expected = logits.detach().clone();
  at::Tensor losses = at::empty({kRows});
  at::Tensor is_correct = at::empty({kRows}, at::kBool);
  kernels::softmax_loss(kernels::SoftmaxLoss<float>{.rows = kRows,
                                                    .columns = kColumns,
                                                    .logits = expected.mutable_data_ptr<float>(),
                                                    .labels = labels.const_data_ptr<std::int64_t>(),
                                                    .target = target_of(options, kColumns),
                                                    .gradient = expected.mutable_data_ptr<float>(),
                                                    .loss = losses.mutable_data_ptr<float>(),
                                                    .is_correct = is_correct.mutable_data_ptr<bool>()},
                        {});
  EXPECT_TRUE(gradient.equal(expected));
  EXPECT_TRUE(loss.equal(losses.sum()));
  EXPECT_TRUE(logits.detach().equal(normal({kRows, kColumns}, 1, at::kFloat)));
}

at::Tensor loss_labels(std::int64_t tokens, std::int64_t words) {
  return (at::arange(tokens, at::kLong) * 7 + 2).remainder(words);
}

/// Returns inputs and gradients of a loss.
LossTensors make_loss_tensors(std::int64_t tokens, std::int64_t words, at::ScalarType type) {
  const at::Tensor state = normal({tokens, 8}, 1, type);
  const at::Tensor weight = normal({words, 8}, 2, at::kFloat);
  const at::Tensor bias = normal({words}, 3, at::kFloat);
  return {.state_TM = state,
          .weight_CM = weight,
          .bias_C = bias,
          .labels_T = loss_labels(tokens / 2, words).repeat({2}),
          .grad_state_TM = at::empty_like(state),
          .grad_weight_CM = at::empty_like(weight),
          .grad_bias_C = at::zeros_like(bias)};
}

TEST_F(LinearLossGpu, TilesOfAnySizeHaveTheSameLossAndGradients) {
  constexpr std::int64_t kTokensOfTiles = 22;
  constexpr std::int64_t kWords = 33;
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const double allowed = tolerance(type);  // in bf16, gradients of logits are rounded before they are summed
    for (const std::optional<Consistency>& consistency :
         {std::optional<Consistency>(), std::optional(Consistency{kernels::ConsistencyKind::kRDrop, 2.5}),
          std::optional(Consistency{kernels::ConsistencyKind::kSimCut, 2.5})}) {
      const LossRule rule = {.target = target_of({.smoothing = 0.1, .ignored = 2}, kWords), .consistency = consistency};
      const LossTensors one_tile = make_loss_tensors(kTokensOfTiles, kWords, type);
      const at::Tensor expected = run_loss_tiles_on_gpu(one_tile, rule);
      for (const std::int64_t rows : {2, 6, 20}) {
        SCOPED_TRACE(rows);
        const LossTensors tiles = make_loss_tensors(kTokensOfTiles, kWords, type);
        const at::Tensor sums = run_loss_tiles_on_gpu(tiles, rule, rows);
        expect_close(sums, expected, "sums", 1e-6);
        expect_close(tiles.grad_state_TM, one_tile.grad_state_TM, "gradient of the state", allowed);
        expect_close(tiles.grad_weight_CM, one_tile.grad_weight_CM, "gradient of the weight", allowed);
        expect_close(tiles.grad_bias_C, one_tile.grad_bias_C, "gradient of the bias", allowed);
      }
    }
  }
}

TEST_F(LinearLossGpu, LossHoldsOneTileOfLogitsAtATime) {
  constexpr std::int64_t kWords = 2000;
  constexpr std::int64_t kTileRows = 16;
  const LossRule rule = {.target = target_of({}, kWords)};
  const auto peak_for = [&](std::int64_t tokens, at::ScalarType type) {
    const LossTensors tensors = make_loss_tensors(tokens, kWords, type);
    return peak_allocation([&] { run_loss_tiles_on_gpu(tensors, rule, kTileRows); });
  };
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    peak_for(2 * kTileRows, type);  // allocates the buffers that threads keep
    const std::int64_t growth = peak_for(14 * kTileRows, type) - peak_for(4 * kTileRows, type);
    EXPECT_LT(growth, kTileRows * kWords);
  }
}

TEST_F(LinearLossGpu, ProjectedLossLeavesItsSumsOnTheDevice) {
  const at::Tensor labels = at::zeros({4}, at::kLong);
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const at::Tensor state = normal({4, 8}, 1, type);
    const at::Tensor weight = normal({5, 8}, 2, at::kFloat);
    for (const BatchLoss& loss : {projected_loss(state, weight, {}, labels),
                                  projected_consistency_loss(state, weight, {}, labels, {.weight = 2})}) {
      ASSERT_TRUE(loss.loss_and_correct.defined());
      EXPECT_EQ(loss.counts.loss, 0);
      EXPECT_EQ(loss.sums().loss, loss.objective.item<double>());
      EXPECT_EQ(loss.sums().tokens, 4);
    }
  }
}

TEST_F(LinearLossGpu, ProductsOfBFloat16AreAddedToFloatsWithoutRounding) {
  const at::Tensor a = at::full({1, 2}, 1.0078125f).to(at::kBFloat16);
  at::Tensor sum = at::ones({1, 1});

  multiply(a, a.t(), kernels::GemmResult::kAdd, sum);
  EXPECT_EQ(sum.item<float>(), 1 + 2 * 1.0078125f * 1.0078125f);

  multiply_add_bias(a, a.t(), at::full({1}, 0.001f), sum);
  EXPECT_EQ(sum.item<float>(), 0.001f + 2 * 1.0078125f * 1.0078125f);
}

}  // namespace
}  // namespace edgewise
