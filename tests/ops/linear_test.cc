// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/linear.h"

#include <ATen/ThreadLocalState.h>

#include <string>
#include <thread>

#include "edgewise/kernels/gemm/gemm_onednn.h"
#include "edgewise/kernels/gemm/gemm_parts.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "edgewise/ops/dropout.h"
#include "edgewise/ops/gradients_in_place.h"
#include "tests/ops/tensors.h"
#include "tests/support/gradient_check.h"

namespace edgewise {
namespace {

struct NamedLinear {
  std::string name;
  LinearOptions options;
};

std::vector<NamedLinear> all_options() {
  const DropoutKey key = {.seed = 3, .stream = 5};
  return {{"plain", {}},
          {"ReLU", {.activation = Activation::kRelu}},
          {"GELU", {.activation = Activation::kGelu}},
          {"SiLU", {.activation = Activation::kSilu}},
          {"GELU by tanh", {.activation = Activation::kGeluTanh}},
          {"dropout", {.dropout = 0.3, .dropout_key = key}},
          {"ReLU, dropout", {.activation = Activation::kRelu, .dropout = 0.3, .dropout_key = key}},
          {"GELU, dropout", {.activation = Activation::kGelu, .dropout = 0.3, .dropout_key = key}},
          {"SiLU, dropout", {.activation = Activation::kSilu, .dropout = 0.3, .dropout_key = key}}};
}

/// Returns the tolerance of sums of up to 300 numbers: rounding of fp32, or of bf16 before and after dropout.
double allowed(at::ScalarType type) { return type == at::kBFloat16 ? 2e-2 : 1e-4; }

/// Returns x of the given type, and weight and bias of the parameter type for x.
Tensors arguments(std::int64_t tokens, std::int64_t inputs, std::int64_t outputs, at::ScalarType type) {
  const at::ScalarType parameter_type = type == at::kDouble ? at::kDouble : at::kFloat;
  return {normal({tokens, inputs}, 1, type), normal({outputs, inputs}, 2, parameter_type),
          normal({outputs}, 3, parameter_type)};
}

void expect_same_results(const std::function<at::Tensor(const Tensors&)>& actual,
                         const std::function<at::Tensor(const Tensors&)>& expected, const Tensors& inputs,
                         double tolerance) {
  const Tensors actual_tensors = output_and_gradients(actual, inputs);
  const Tensors expected_tensors = output_and_gradients(expected, inputs);
  for (std::size_t i = 0; i < expected_tensors.size(); ++i) {
    expect_close(actual_tensors[i].to(at::kDouble), expected_tensors[i].to(at::kDouble),
                 i == 0 ? "output" : "gradient of input " + std::to_string(i - 1), tolerance);
  }
}

TEST(Linear, MatchesItsDefinitionForEveryInstructionSet) {
  for (const kernels::InstructionSet set : kernels::runnable_instruction_sets()) {
    const kernels::ForcedInstructionSet forced(set);
    for (const auto& [name, options] : all_options()) {
      for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
        for (const std::int64_t tokens : {0, 1, 17, 64, 300}) {
          SCOPED_TRACE(std::string(kernels::instruction_set_name(set)) + ", " + name + ", " + at::toString(type) +
                       ", tokens " + std::to_string(tokens));
          expect_same_results([&](const Tensors& x) { return linear(x[0], x[1], x[2], options); },
                              [&](const Tensors& x) { return linear_plain(x[0], x[1], x[2], options); },
                              arguments(tokens, 31, 47, type), allowed(type));
        }
      }
    }
  }
}

TEST(Linear, MatchesItsDefinitionInBFloat16WithAndWithoutNativeInstructions) {
  for (const bool is_native : {false, true}) {
    if (is_native && !kernels::onednn::has_bf16()) continue;
    const kernels::cpu::ForcedNativeBf16 forced(is_native);
    for (const auto& [name, options] : all_options()) {
      SCOPED_TRACE(name + (is_native ? ", native" : ", in floats"));
      expect_same_results([&](const Tensors& x) { return linear(x[0], x[1], x[2], options); },
                          [&](const Tensors& x) { return linear_plain(x[0], x[1], x[2], options); },
                          arguments(300, 31, 47, at::kBFloat16), allowed(at::kBFloat16));
    }
  }
}

TEST(Linear, MatchesItsDefinitionForEverySize) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    for (const std::int64_t inputs : {1, 3, 16, 33, 128}) {
      for (const std::int64_t outputs : {1, 2, 15, 64, 127}) {
        SCOPED_TRACE(std::to_string(inputs) + " to " + std::to_string(outputs));
        expect_same_results([&](const Tensors& x) { return linear(x[0], x[1], x[2]); },
                            [&](const Tensors& x) { return linear_plain(x[0], x[1], x[2]); },
                            arguments(37, inputs, outputs, type), allowed(type));
      }
    }
  }
}

TEST(Linear, TakesAnyDimensionsStridesAndNoBias) {
  const at::Tensor no_bias;
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kDouble}) {
    const Tensors x = arguments(12, 6, 5, type);
    const at::Tensor flat = linear(x[0], x[1], no_bias);

    EXPECT_TRUE(linear(x[0].view({3, 4, 6}), x[1], no_bias).equal(flat.view({3, 4, 5})));
    const at::Tensor strided = linear(x[0].t().contiguous().t(), x[1].t().contiguous().t(), no_bias);
    EXPECT_TRUE(type == at::kDouble ? strided.allclose(flat, 1e-13, 1e-13) : strided.equal(flat))
        << type;  // libtorch computes fp64 products
    expect_same_results([](const Tensors& t) { return linear(t[0], t[1], at::Tensor()); },
                        [](const Tensors& t) { return linear_plain(t[0], t[1], at::Tensor()); }, {x[0], x[1]},
                        allowed(type));
  }
}

TEST(Linear, DropsTheSameElementsAsDropoutForTheSameKey) {
  const Tensors x = arguments(40, 9, 23, at::kFloat);
  const DropoutKey key = {.seed = 8, .stream = 1};

  const at::Tensor fused =
      linear(x[0], x[1], x[2], {.activation = Activation::kRelu, .dropout = 0.4, .dropout_key = key});

  EXPECT_TRUE(fused.equal(dropout(linear(x[0], x[1], x[2]).relu(), 0.4, key)));
}

TEST(Linear, HasGradientsThatMatchFiniteDifferences) {
  for (const auto& [name, options] : all_options()) {
    SCOPED_TRACE(name);
    expect_gradients_match([&](const Tensors& x) { return linear(x[0], x[1], x[2], options); },
                           arguments(4, 3, 5, at::kDouble));
  }
}

TEST(Gate, MatchesItsDefinitionForEveryInstructionSet) {
  for (const kernels::InstructionSet set : kernels::runnable_instruction_sets()) {
    const kernels::ForcedInstructionSet forced(set);
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kDouble}) {
      for (const auto& [name, options] : all_options()) {
        SCOPED_TRACE(testing::Message() << name << ", " << kernels::instruction_set_name(set) << ", " << type);
        expect_same_results([&](const Tensors& x) { return gate(x[0], x[1], options); },
                            [&](const Tensors& x) { return gate_plain(x[0], x[1], options); },
                            {normal({7, 45}, 1, type), normal({45, 7}, 2, type).t()}, allowed(type));
      }
    }
  }
}

TEST(Gate, HasGradientsThatMatchFiniteDifferences) {
  for (const auto& [name, options] : all_options()) {
    SCOPED_TRACE(name);
    expect_gradients_match([&](const Tensors& x) { return gate(x[0], x[1], options); },
                           {normal({4, 3}, 1), normal({4, 3}, 2)});
  }
}

TEST(Gate, NeedsTensorsOfOneShapeAndType) {
  const at::Tensor x = normal({4, 3}, 1);
  EXPECT_EQ(error_of([&] {
              gate(normal({4, 2}, 1), x);
            }),
            "gate: gate is [4, 2] but x is [4, 3], needs the same shape");
  EXPECT_EQ(error_of([&] { gate(x.to(at::kFloat), x); }),
            "gate: gate has type Float but x has type Double, needs the same type");
}

TEST(Linear, GivesTheSameBitsTwice) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const auto run = [&] {
      return output_and_gradients(
          [](const Tensors& x) { return linear(x[0], x[1], x[2], {.activation = Activation::kRelu, .dropout = 0.1}); },
          arguments(300, 40, 50, type));
    };
    const Tensors first = run();
    const Tensors second = run();
    for (std::size_t i = 0; i < first.size(); ++i) EXPECT_TRUE(first[i].equal(second[i])) << i;
  }
}

TEST(Linear, ComputesOnlyTheGradientsThatAreNeeded) {
  const Tensors x = arguments(7, 4, 3, at::kFloat);
  const at::Tensor weight = x[1].clone().requires_grad_();
  const at::Tensor out = linear(x[0], weight, x[2]);

  const Tensors gradients = torch::autograd::grad({out.sum()}, {weight});

  expect_close(gradients[0], x[0].sum(0).expand({3, 4}), "gradient of the weight");
}

Tensors group_and_its_gradients(const Tensors& inputs, bool is_one_by_one) {
  return output_and_gradients(
      [&](const Tensors& x) {
        const std::vector<LinearWeights> layers = {{x[1], x[2]}, {x[3], {}}, {x[4], x[5]}};
        Tensors results;
        if (is_one_by_one) {
          for (const auto& [weight, bias] : layers) results.push_back(linear_plain(x[0], weight, bias));
        } else {
          results = linear_group(x[0], layers);
          for (const at::Tensor& result : results) EXPECT_TRUE(result.is_contiguous());
        }
        return at::cat({results[0], results[1] * 2, results[2] * 3}, 1);
      },
      inputs);
}

TEST(LinearGroup, MatchesItsLayersOneByOne) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kDouble}) {
    SCOPED_TRACE(at::toString(type));
    const at::ScalarType parameter_type = type == at::kDouble ? at::kDouble : at::kFloat;
    const Tensors inputs = {normal({70, 12}, 1, type),          normal({8, 12}, 2, parameter_type),
                            normal({8}, 3, parameter_type),     normal({16, 12}, 4, parameter_type),
                            normal({5, 12}, 5, parameter_type), normal({5}, 6, parameter_type)};
    const Tensors actual = group_and_its_gradients(inputs, false);
    const Tensors expected = group_and_its_gradients(inputs, true);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      expect_close(actual[i].to(at::kDouble), expected[i].to(at::kDouble), std::to_string(i), allowed(type));
    }
  }
}

TEST(LinearGroup, AcceptsAnUnusedResult) {
  const Tensors x = arguments(6, 4, 3, at::kFloat);
  const at::Tensor input = x[0].clone().requires_grad_();
  const std::vector<LinearWeights> layers = {{x[1], x[2]}, {x[1] * 2, {}}};

  linear_group(input, layers)[1].sum().backward();

  expect_close(input.grad(), (x[1] * 2).sum(0).expand({6, 4}), "gradient of x");
}

struct Leaves {
  at::Tensor weight = normal({5, 4}, 2, at::kFloat).requires_grad_();
  at::Tensor bias = normal({5}, 3, at::kFloat).requires_grad_();

  void set_gradients_to_one() const {
    weight.mutable_grad() = at::ones({5, 4}).to(test_device());
    bias.mutable_grad() = at::ones({5}).to(test_device());
  }
  at::Tensor loss() const { return linear(normal({9, 4}, 1, at::kFloat), weight, bias).square().sum(); }
};

TEST(GradientsInPlaceGuard, AddsToExistingGradientsOfParameters) {
  const Leaves leaves;
  const Tensors expected = torch::autograd::grad({leaves.loss()}, {leaves.weight, leaves.bias});
  leaves.set_gradients_to_one();
  const void* memory = leaves.weight.grad().data_ptr();
  {
    const GradientsInPlaceGuard in_place;
    leaves.loss().backward();
  }

  EXPECT_EQ(leaves.weight.grad().data_ptr(), memory);
  expect_close(leaves.weight.grad(), expected[0] + 1, "weight");
  expect_close(leaves.bias.grad(), expected[1] + 1, "bias");
}

TEST(GradientsInPlaceGuard, LeavesParametersWithoutGradientsToAutograd) {
  const Leaves leaves;
  const Tensors expected = torch::autograd::grad({leaves.loss()}, {leaves.weight, leaves.bias});
  {
    const GradientsInPlaceGuard in_place;
    leaves.loss().backward();
  }

  expect_close(leaves.weight.grad(), expected[0], "weight");
  expect_close(leaves.bias.grad(), expected[1], "bias");
}

TEST(GradientsInPlaceGuard, ChangesNothingAfterItsLifetime) {
  const Leaves leaves;
  leaves.set_gradients_to_one();
  { const GradientsInPlaceGuard in_place; }
  EXPECT_FALSE(GradientsInPlaceGuard::is_active());

  const Tensors gradients = torch::autograd::grad({leaves.loss()}, {leaves.weight, leaves.bias});

  EXPECT_TRUE(gradients[0].defined() && gradients[1].defined());
  EXPECT_TRUE(leaves.weight.grad().equal(at::ones({5, 4}).to(test_device())));
}

TEST(GradientsInPlaceGuard, LeavesGradientsOfNonLeavesToAutograd) {
  const Leaves leaves;
  leaves.set_gradients_to_one();
  const GradientsInPlaceGuard in_place;

  linear(normal({9, 4}, 1, at::kFloat), leaves.weight * 2, leaves.bias * 2).sum().backward();

  expect_close(leaves.bias.grad(), at::full({5}, 19.0f).to(test_device()), "bias");
}

TEST(GradientsInPlaceGuard, IsActiveOnTheThreadsOfAutograd) {
  const GradientsInPlaceGuard in_place;
  const at::ThreadLocalState state;  // autograd sets the state of the caller of backward() on its threads
  bool is_active_alone = true;
  bool is_active_in_autograd = false;
  std::thread([&] {
    is_active_alone = GradientsInPlaceGuard::is_active();
    const at::ThreadLocalStateGuard guard(state);
    is_active_in_autograd = GradientsInPlaceGuard::is_active();
  }).join();

  EXPECT_FALSE(is_active_alone);
  EXPECT_TRUE(is_active_in_autograd);
}

TEST(Linear, NamesArgumentsThatDoNotFit) {
  const at::Tensor no_bias;
  const at::Tensor x = at::zeros({3, 5}).to(test_device());
  const at::Tensor weight = at::zeros({2, 5}).to(test_device());
  EXPECT_EQ(error_of([&] {
              linear(x, at::zeros({2, 4}).to(test_device()), no_bias);
            }),
            "linear: x is [3, 5], needs a last dimension of 4");
  EXPECT_EQ(error_of([&] { linear(x, weight, at::zeros({3}).to(test_device())); }),
            "linear: bias is [3], needs to be [2]");
  EXPECT_EQ(error_of([&] { linear(x, weight.to(at::kBFloat16), no_bias); }),
            "linear: weight has type BFloat16, needs Float where x has type Float");
  EXPECT_EQ(error_of([&] { linear(x.to(at::kLong), weight, no_bias); }),
            "linear: x has type Long, needs Float, BFloat16 or Double");
  EXPECT_EQ(error_of([&] { linear(x, weight[0], no_bias); }),
            "linear: weight is [5], needs 2 dimensions: outputs, inputs");
  EXPECT_EQ(error_of([&] { linear(x, weight, no_bias, {.dropout = 1.0}); }),
            "linear: dropout is 1, needs at least 0 and less than 1");
  EXPECT_EQ(error_of([&] {
              linear_group(x, std::vector<LinearWeights>{{weight, {}}, {at::Tensor(), {}}});
            }),
            "linear_group: weight is undefined, needs a tensor");
}

}  // namespace
}  // namespace edgewise
