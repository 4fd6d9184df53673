// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/round_to_int8.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "edgewise/kernels/simd/instruction_set.h"
#include "tests/ops/tensors.h"

namespace edgewise {
namespace {

constexpr std::array kFactors = {Int8Factor::kWeight, Int8Factor::kInput};

/// Computes the rounding of a row in loops, in fp64.
std::vector<double> round_in_loops(const std::vector<double>& row) {
  double largest = 0;
  for (const double value : row) largest = std::max(largest, std::abs(value));
  std::vector<double> rounded;
  for (const double value : row) {
    rounded.push_back(largest > 0 ? std::nearbyint(value * (127 / largest)) * (largest / 127) : 0);
  }
  return rounded;
}

TEST(RoundToInt8, GivesWeightsTheBitsOfItsDefinitionForEveryInstructionSet) {
  for (const kernels::InstructionSet set : kernels::runnable_instruction_sets()) {
    const kernels::ForcedInstructionSet forced(set);
    for (const auto& [rows, columns] : {std::array{1, 1}, {3, 7}, {40, 16}, {17, 33}, {5, 300}}) {
      const at::Tensor weight = normal({rows, columns}, 1, at::kFloat);
      EXPECT_TRUE(at::equal(round_to_int8(weight, Int8Factor::kWeight), round_to_int8_plain(weight)));
    }
  }
}

// The kernel for inputs rounds once, its definition twice, which differs where a product is near n + 0.5.
TEST(RoundToInt8, RoundsInputsAsItsDefinitionButForOneIntegerNearTies) {
  for (const kernels::InstructionSet set : kernels::runnable_instruction_sets()) {
    const kernels::ForcedInstructionSet forced(set);
    for (const auto& [rows, columns] : {std::array{1, 1}, {3, 7}, {40, 16}, {17, 33}, {5, 300}}) {
      const at::Tensor x = normal({rows, columns}, 2, at::kFloat);
      const at::Tensor plain = round_to_int8_plain(x);
      const at::Tensor difference = (round_to_int8(x, Int8Factor::kInput) - plain).abs();
      const at::Tensor step = x.abs().amax(1, /*keepdim=*/true) / 127;
      EXPECT_TRUE((difference <= step * 1.001).all().item<bool>());
      EXPECT_LE((difference > 0).to(at::kDouble).mean().item<double>(), 2e-3);
    }
  }
}

TEST(RoundToInt8, MakesTheLargestMagnitudeOfARow127Steps) {
  const at::Tensor x = normal({4, 9}, 3);
  const at::Tensor rounded = round_to_int8_plain(x).cpu();
  for (std::int64_t row = 0; row < 4; ++row) {
    const at::Tensor values = x[row].cpu();
    const std::vector<double> expected =
        round_in_loops({values.const_data_ptr<double>(), values.const_data_ptr<double>() + 9});
    for (std::int64_t i = 0; i < 9; ++i) {
      EXPECT_NEAR(rounded[row][i].item<double>(), expected[static_cast<std::size_t>(i)], 1e-14);
    }
    EXPECT_NEAR(rounded[row].abs().max().item<double>(), values.abs().max().item<double>(), 1e-14);
  }
}

TEST(RoundToInt8, PassesGradientsOnAsIfNothingWereRounded) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    for (const Int8Factor factor : kFactors) {
      const at::Tensor x = normal({3, 2, 20}, 4, type);
      const auto round = [&](const Tensors& inputs) { return round_to_int8(inputs[0], factor); };
      const Tensors found = output_and_gradients(round, {x});
      EXPECT_FALSE(at::equal(found[0], x.to(found[0].scalar_type())));
      const auto identity = [](const Tensors& inputs) { return inputs[0] * 1; };
      EXPECT_TRUE(at::equal(found[1], output_and_gradients(identity, {x})[1]));
    }
  }
}

TEST(RoundToInt8, TakesRowsOfZerosStridesAndNoRows) {
  for (const Int8Factor factor : kFactors) {
    const at::Tensor zeros = at::zeros({2, 5}).to(test_device());
    EXPECT_TRUE(at::equal(round_to_int8(zeros, factor), zeros));
    const at::Tensor x = normal({6, 4}, 5, at::kFloat);
    EXPECT_TRUE(at::equal(round_to_int8(x.t(), factor), round_to_int8(x.t().contiguous(), factor)));
    EXPECT_EQ(round_to_int8(x.narrow(0, 0, 0), factor).size(0), 0);
  }
}

TEST(RoundToInt8, KeepsNumbersThatAreNotFiniteVisible) {
  for (const Int8Factor factor : kFactors) {
    for (const float value : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      const at::Tensor x = at::tensor({1.0f, value, 2.0f}).to(test_device()).unsqueeze(0);
      EXPECT_TRUE(round_to_int8(x, factor)[0][1].isnan().item<bool>());
    }
  }
}

TEST(RoundToInt8, NamesTheTypeThatItDoesNotTake) {
  EXPECT_EQ(error_of([] {
              round_to_int8(at::zeros({2, 2}, at::kBFloat16).to(test_device()), Int8Factor::kInput);
            }),
            "round_to_int8: x has type BFloat16, needs Float or Double");
  EXPECT_EQ(error_of([] { round_to_int8(at::zeros({}).to(test_device()), Int8Factor::kInput); }),
            "round_to_int8: x has no dimension, needs at least one: that of a row");
}

}  // namespace
}  // namespace edgewise
