// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/rows.h"

#include <gmock/gmock.h>

#include "tests/ops/tensors.h"
#include "tests/support/emulated_kernels.h"
#include "tests/support/gradient_check.h"

namespace edgewise {
namespace {

using Rows = std::vector<NodeIndex>;

at::Tensor numbers(const Rows& rows) {
  return at::tensor(std::vector<std::int64_t>(rows.begin(), rows.end())).to(test_device());
}

TEST(TakeRows, EqualsIndexSelectOnTheConcatenatedTensors) {
  const Rows order = {4, 0, 6, 2};
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16}) {
    expect_same_function([&](const Tensors& x) { return take_rows(x, order); },
                         [&](const Tensors& x) { return at::cat(x).index_select(0, numbers(order)); },
                         {normal({3, 2, 5}, 1, type), normal({4, 2, 5}, 2, type)});
  }
}

/// Expects that a function calls these kernels for GPUs, and has then the same output and gradients.
void expect_kernels(const std::set<std::string>& kernels, const std::function<at::Tensor(const Tensors&)>& function,
                    const Tensors& inputs) {
  Tensors actual;
  EXPECT_EQ(launched_kernels([&] { actual = output_and_gradients(function, inputs); }), kernels);
  const Tensors expected = output_and_gradients(function, inputs);
  for (std::size_t i = 0; i < expected.size(); ++i) expect_close(actual[i], expected[i], result_name(i));
}

TEST(TakeRows, CallsTheKernelsForGpus) {
  if (!has_emulator()) GTEST_SKIP() << "a build with CUDA has no emulator";
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    expect_kernels({"gather_rows", "place_rows"},
                   [](const Tensors& x) {
                     return take_rows(x, Rows{4, 0, 6, 2});
                   },
                   {normal({3, 2, 5}, 1, type), normal({4, 2, 5}, 2, type)});
    expect_kernels({"gather_rows", "place_rows"},
                   [](const Tensors& x) {
                     return take_rows(x, Rows{2, 0, 1});
                   },
                   {normal({3, 8}, 1, type)});
  }
}

TEST(TakeRows, MayTakeAllRowsOrNone) {
  expect_same_function(
      [&](const Tensors& x) {
        return take_rows(x[0], Rows{2, 0, 1});
      },
      [&](const Tensors& x) {
        return x[0].index_select(0, numbers({2, 0, 1}));
      },
      {normal({3, 4}, 1)});
  const auto none = output_and_gradients([](const Tensors& x) { return take_rows(x[0], Rows{}); }, {normal({3, 4}, 1)});
  EXPECT_EQ(none[0].sizes(), (at::IntArrayRef{0, 4}));
  EXPECT_TRUE(at::equal(none[1], at::zeros({3, 4}, at::kDouble).to(test_device())));
}

TEST(TakeRows, HasGradientsOfItsGradients) {
  const Rows order = {4, 0, 6, 2};
  const auto second_gradients = [](const TensorFunction& take) {
    const Tensors x = {normal({3, 2}, 1).requires_grad_(), normal({4, 2}, 2).requires_grad_()};
    const at::Tensor fourth_powers = take({x[0].square(), x[1].square()}).square().sum();
    const Tensors first = torch::autograd::grad({fourth_powers}, x, {}, /*retain_graph=*/{}, /*create_graph=*/true);
    return torch::autograd::grad({first[0].square().sum() + first[1].square().sum()}, x);
  };
  const Tensors actual = second_gradients([&](const Tensors& x) { return take_rows(x, order); });
  const Tensors expected = second_gradients([&](const Tensors& x) { return take_rows_plain(x, order); });
  for (std::size_t i = 0; i < expected.size(); ++i) expect_close(actual[i], expected[i], result_name(i));
}

TEST(TakeRows, RefusesARowOutOfRangeOrTakenTwice) {
  const at::Tensor x = normal({3, 2}, 1);
  EXPECT_EQ(error_of([&] { take_rows(x, Rows{0, 3}); }), "take_rows: order 1 is 3, needs a number from 0 to 2");
  EXPECT_EQ(error_of([&] { take_rows(x, Rows{1, 1}); }), "take_rows: order 1 is 1 again, needs each number once");
}

at::Tensor sum_plain(std::int64_t num_rows, const std::vector<WeightedRows>& parts) {
  at::Tensor sum = at::zeros({num_rows, parts.front().state_AM.size(1)}, parts.front().state_AM.options());
  for (const WeightedRows& part : parts) {
    sum = sum.index_add(0, numbers(part.rows), part.weight_A.unsqueeze(-1) * part.state_AM);
  }
  return sum;
}

TEST(SumWeighted, MatchesItsDefinitionInOutputAndGradient) {
  const auto parts = [](const Tensors& x) {
    return std::vector<WeightedRows>{{x[0], x[1], {0, 1, 4}}, {x[2], x[3], {1, 3}}, {x[4], x[5], {}}};
  };
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    expect_same_function([&](const Tensors& x) { return sum_weighted(6, parts(x)); },
                         [&](const Tensors& x) { return sum_plain(6, parts(x)); },
                         {normal({3, 5}, 1, type), normal({3}, 2, type), normal({2, 5}, 3, type), normal({2}, 4, type),
                          normal({0, 5}, 5, type), normal({0}, 6, type)});
  }
}

TEST(SumWeighted, CallsTheKernelsForGpus) {
  if (!has_emulator()) GTEST_SKIP() << "a build with CUDA has no emulator";
  const auto sum = [](const Tensors& x) {
    return sum_weighted(6, std::vector<WeightedRows>{{x[0], x[1], {0, 1, 4}}, {x[2], x[3], {1, 3}}});
  };
  expect_kernels({"gather_rows", "sum_rows"}, sum,
                 {normal({3, 5}, 1, at::kFloat), normal({3}, 2, at::kFloat), normal({2, 5}, 3, at::kFloat),
                  normal({2}, 4, at::kFloat)});
}

TEST(SumWeighted, HasGradientsThatMatchFiniteDifferences) {
  expect_gradients_match(
      [](const Tensors& x) {
        return sum_weighted(4, std::vector<WeightedRows>{{x[0], x[1], {0, 2, 3}}, {x[2], x[3], {2}}});
      },
      {normal({3, 2}, 1), normal({3}, 2), normal({1, 2}, 3), normal({1}, 4)});
}

TEST(SumWeighted, RefusesRowsOutOfRangeAndShapesThatDoNotFit) {
  const auto error_with = [](const Rows& rows, std::int64_t weights) {
    return error_of([&] {
      sum_weighted(3, std::vector<WeightedRows>{{normal({2, 4}, 1), normal({weights}, 2), rows}});
    });
  };
  EXPECT_EQ(error_with({1, 3}, 2), "sum_weighted: row 1 is 3, needs ascending numbers below 3");
  EXPECT_EQ(error_with({1, 1}, 2), "sum_weighted: row 1 is 1, needs ascending numbers below 3");
  EXPECT_EQ(error_with({0, 1}, 3),
            "sum_weighted: state has shape [2, 4] and weight [3] for 2 rows of size 4, needs one each");
}

}  // namespace
}  // namespace edgewise
