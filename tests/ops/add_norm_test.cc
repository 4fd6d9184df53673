// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/add_norm.h"

#include "edgewise/base/threads.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "edgewise/ops/dropout.h"
#include "tests/ops/tensors.h"
#include "tests/support/all_of.h"
#include "tests/support/gradient_check.h"

// Shapes: T = tokens, M = model size.
namespace edgewise {
namespace {

TEST(Normalise, FollowsTheFormulaOfLayerNorm) {
  const at::Tensor x = normal({5, 6}, 1);
  const at::Tensor gain = normal({6}, 2);
  const at::Tensor bias = normal({6}, 3);

  const at::Tensor y = normalise(x, gain, bias, NormKind::kLayerNorm, 1e-3);

  const at::Tensor centred = x - x.mean(1, true);
  expect_close(y, centred / (centred.square().mean(1, true) + 1e-3).sqrt() * gain + bias, "output");
}

TEST(Normalise, FollowsTheFormulaOfStdNorm) {
  const at::Tensor x = normal({5, 6}, 1);
  const at::Tensor gain = normal({6}, 2);
  const at::Tensor bias = normal({6}, 3);

  const at::Tensor y = normalise(x, gain, bias, NormKind::kStdNorm, 1e-3);

  const at::Tensor centred = x - x.mean(1, true);
  expect_close(y, centred / ((centred.square().sum(1, true) / 5).sqrt() + 1e-3) * gain + bias, "output");
}

TEST(Normalise, FollowsTheFormulaOfRmsNorm) {
  const at::Tensor x = normal({5, 6}, 1);
  const at::Tensor gain = normal({6}, 2);

  const at::Tensor y = normalise(x, gain, {}, NormKind::kRmsNorm, 1e-3);

  expect_close(y, x / (x.square().sum(1, true) / 6 + 1e-3).sqrt() * gain, "output");
}

TEST(Normalise, WithoutABiasIsANormWithABiasOfZeros) {
  for (const auto type : {at::kDouble, at::kFloat}) {
    for (const NormKind kind : all_of<NormKind>()) {
      const auto results = [&](const at::Tensor& bias) {
        return output_and_gradients([&](const Tensors& x) { return normalise(x[0], x[1], bias, kind, 1e-5); },
                                    {normal({5, 19}, 1, type), normal({19}, 2, type)});
      };
      const auto actual = results({});
      const auto expected = results(at::zeros({19}, at::TensorOptions(type)).to(test_device()));
      for (std::size_t i = 0; i < expected.size(); ++i) expect_close(actual[i], expected[i], "result");
    }
  }
}

TEST(Normalise, MapsARowOfEqualNumbersToTheBias) {
  const at::Tensor bias = normal({4}, 3);
  for (const NormKind kind : all_of<NormKind>()) {
    if (kind == NormKind::kRmsNorm) continue;
    const auto result =
        output_and_gradients([&](const Tensors& x) { return normalise(x[0], x[1], x[2], kind, 1e-5); },
                             {at::full({1, 4}, 2.0, at::kDouble).to(test_device()), normal({4}, 2), bias});

    expect_close(result[0][0], bias, "output");
    EXPECT_TRUE(result[1].isfinite().all().item<bool>());
  }
}

TEST(Normalise, HasGradientsThatMatchFiniteDifferences) {
  for (const NormKind kind : all_of<NormKind>()) {
    for (const std::int64_t rows : {0, 1, 3}) {
      expect_gradients_match([&](const Tensors& x) { return normalise(x[0], x[1], x[2], kind, 1e-5); },
                             {normal({5, rows}, 1).t(), normal({5}, 2), normal({5}, 3)});
      expect_gradients_match([&](const Tensors& x) { return normalise(x[0], x[1], {}, kind, 1e-5); },
                             {normal({5, rows}, 1).t(), normal({5}, 2)});
    }
  }
}

struct Types {
  at::ScalarType x, y, normed;
};

constexpr Types kTypes[] = {{at::kDouble, at::kDouble, at::kDouble},      {at::kFloat, at::kFloat, at::kFloat},
                            {at::kFloat, at::kFloat, at::kBFloat16},      {at::kFloat, at::kBFloat16, at::kFloat},
                            {at::kFloat, at::kBFloat16, at::kBFloat16},   {at::kBFloat16, at::kBFloat16, at::kFloat},
                            {at::kBFloat16, at::kBFloat16, at::kBFloat16}};

AddNormOptions options_of(NormKind kind, double dropout, at::ScalarType normed) {
  return {.kind = kind, .dropout = dropout, .dropout_key = {3, 4}, .type = normed};
}

Tensors inputs_of(const Types& types, std::int64_t rows, std::int64_t size) {
  const at::ScalarType wide = types.x == at::kDouble ? at::kDouble : at::kFloat;
  return {normal({rows, size}, 1, types.x), normal({rows, size}, 2, types.y), normal({size}, 3, wide),
          normal({size}, 4, wide)};
}

// Returns the tolerance. Two computations may round a value to adjacent bf16 numbers, and a gradient of a sum in bf16
// adds two such values.
double allowed(const Types& types) {
  const bool rounds = types.x == at::kBFloat16 || types.y == at::kBFloat16 || types.normed == at::kBFloat16;
  return rounds ? 0x1p-6 : tolerance(types.x);
}

void expect_all_close(const Tensors& actual, const Tensors& expected, double allowed_difference) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(actual[i].scalar_type(), expected[i].scalar_type()) << i;
    expect_close(actual[i].to(at::kDouble), expected[i].to(at::kDouble), "result " + std::to_string(i),
                 allowed_difference);
  }
}

using AddNormFunction = AddNorm (*)(const at::Tensor&, const at::Tensor&, const at::Tensor&, const at::Tensor&,
                                    const AddNormOptions&);

enum class UsedOutputs { kSum, kNormed, kBoth };

at::Tensor project(const at::Tensor& x, std::uint64_t seed) {
  return (x * normal(x.sizes(), seed, x.scalar_type())).sum();
}

/// Returns both results, and the gradients of a projection of the used outputs.
Tensors run(AddNormFunction function, const Tensors& inputs, const AddNormOptions& options, UsedOutputs used) {
  Tensors leaves;
  for (const at::Tensor& input : inputs) leaves.push_back(input.detach().requires_grad_());
  const AddNorm result = function(leaves[0], leaves[1], leaves[2], leaves[3], options);
  at::Tensor loss = at::zeros({}, at::kDouble).to(test_device());
  if (used != UsedOutputs::kNormed) loss = loss + project(result.sum_TM, 8).to(at::kDouble);
  if (used != UsedOutputs::kSum) loss = loss + project(result.normed_TM, 9).to(at::kDouble);
  if (used == UsedOutputs::kSum) leaves.resize(2);
  Tensors all = {result.sum_TM.detach(), result.normed_TM.detach()};
  for (const at::Tensor& gradient : torch::autograd::grad({loss}, leaves)) all.push_back(gradient);
  return all;
}

TEST(AddNorm, MatchesItsDefinitionInResultsAndGradientsInAllTypes) {
  for (const auto set : kernels::runnable_instruction_sets()) {
    const kernels::ForcedInstructionSet forced(set);
    SCOPED_TRACE(kernels::instruction_set_name(set));
    for (const Types& types : kTypes) {
      for (const NormKind kind : all_of<NormKind>()) {
        for (const double dropout : {0.0, 0.3}) {
          for (const UsedOutputs used : {UsedOutputs::kSum, UsedOutputs::kNormed, UsedOutputs::kBoth}) {
            const Tensors inputs = inputs_of(types, 19, 24);
            const AddNormOptions options = options_of(kind, dropout, types.normed);
            SCOPED_TRACE(testing::Message() << types.x << ' ' << types.y << ' ' << types.normed << ", dropout "
                                            << dropout << ", reads " << static_cast<int>(used));
            expect_all_close(run(add_norm, inputs, options, used), run(add_norm_plain, inputs, options, used),
                             allowed(types));
          }
        }
      }
    }
  }
}

TEST(AddNorm, HasGradientsThatMatchFiniteDifferences) {
  for (const NormKind kind : all_of<NormKind>()) {
    for (const std::int64_t rows : {0, 1, 3}) {
      expect_gradients_match(
          [&](const Tensors& x) {
            const AddNorm result = add_norm(x[0], x[1], x[2], x[3], options_of(kind, 0.3, at::kDouble));
            return at::cat({result.sum_TM, result.normed_TM});
          },
          {normal({5, rows}, 1).t(), normal({rows, 5}, 2), normal({5}, 3), normal({5}, 4)});
    }
  }
}

TEST(AddNorm, WithoutSummandIsANorm) {
  const at::Tensor x = normal({4, 6}, 1);
  const at::Tensor gain = normal({6}, 2);
  const at::Tensor bias = normal({6}, 3);

  const AddNorm result = add_norm(x, {}, gain, bias, {.kind = NormKind::kStdNorm});

  EXPECT_TRUE(result.sum_TM.is_same(x));
  EXPECT_TRUE(at::equal(result.normed_TM, normalise(x, gain, bias, NormKind::kStdNorm, 1e-5)));
}

TEST(AddNorm, TakesAnyNumberOfDimensions) {
  const at::Tensor x = normal({2, 3, 6}, 1, at::kFloat);
  const at::Tensor y = normal({2, 3, 6}, 2, at::kFloat);
  const at::Tensor gain = at::ones({6}).to(test_device());
  const AddNormOptions options = {.dropout = 0.5, .dropout_key = {1, 2}};

  const AddNorm result = add_norm(x, y, gain, gain, options);
  const AddNorm flat = add_norm(x.view({6, 6}), y.view({6, 6}), gain, gain, options);

  EXPECT_TRUE(at::equal(result.sum_TM.view({6, 6}), flat.sum_TM));
  EXPECT_TRUE(at::equal(result.normed_TM.view({6, 6}), flat.normed_TM));
}

TEST(AddNorm, TakesStridedTensors) {
  const auto strided = [](std::uint64_t seed) { return normal({6, 5}, seed, at::kFloat).t(); };
  const at::Tensor gain = normal({12}, 3, at::kFloat).slice(0, 0, 12, 2);
  const AddNormOptions options = {.dropout = 0.5, .dropout_key = {1, 2}};

  const AddNorm result = add_norm(strided(1), strided(2), gain, gain, options);
  const AddNorm expected =
      add_norm(strided(1).contiguous(), strided(2).contiguous(), gain.contiguous(), gain.contiguous(), options);

  EXPECT_TRUE(at::equal(result.sum_TM, expected.sum_TM));
  EXPECT_TRUE(at::equal(result.normed_TM, expected.normed_TM));
}

TEST(AddNorm, DropsTheSameElementsAsDropout) {
  const at::Tensor x = normal({5, 40}, 1);
  const at::Tensor y = normal({5, 40}, 2);

  const at::Tensor sum = add_dropout(x, y, 0.4, {5, 6});

  EXPECT_TRUE(at::equal(sum, x + dropout(y, 0.4, DropoutKey{5, 6})));
}

TEST(AddDropout, MatchesItsDefinitionInResultAndGradientsInAllTypes) {
  for (const Types& types : kTypes) {
    for (const double rate : {0.0, 0.3}) {
      const auto results = [&](auto function) {
        const at::Tensor x = normal({19, 24}, 1, types.x).requires_grad_();
        const at::Tensor y = normal({19, 24}, 2, types.y).requires_grad_();
        const at::Tensor sum = function(x, y, rate, DropoutKey{5, 6});
        Tensors all = {sum.detach()};
        for (const at::Tensor& gradient : torch::autograd::grad({project(sum, 8)}, {x, y})) all.push_back(gradient);
        return all;
      };
      expect_all_close(results(add_dropout), results(add_dropout_plain), allowed(types));
    }
  }
}

TEST(AddDropout, HasGradientsThatMatchFiniteDifferences) {
  expect_gradients_match(
      [](const Tensors& x) {
        return add_dropout(x[0], x[1], 0.3, {1, 2});
      },
      {normal({3, 5}, 1), normal({5, 3}, 2).t()});
}

TEST(AddNorm, GivesTheSameBitsForAnyNumberOfThreads) {
  const int threads_before = num_threads();
  const Tensors inputs = inputs_of({at::kFloat, at::kFloat, at::kFloat}, 700, 40);
  const AddNormOptions options = options_of(NormKind::kLayerNorm, 0.3, at::kFloat);
  set_num_threads(1);
  const Tensors expected = run(add_norm, inputs, options, UsedOutputs::kBoth);
  for (const int threads : {2, 3, 7}) {
    set_num_threads(threads);
    const Tensors actual = run(add_norm, inputs, options, UsedOutputs::kBoth);
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(at::equal(actual[i], expected[i])) << i;
  }
  set_num_threads(threads_before);
}

}  // namespace
}  // namespace edgewise
