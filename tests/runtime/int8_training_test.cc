// SPDX-License-Identifier: Apache-2.0
// Quantisation-aware training computes with the numbers of the runtime in 8 bits.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "edgewise/kernels/simd/instruction_set.h"
#include "edgewise/nn/int8_copy.h"
#include "edgewise/runtime/packed_linear.h"
#include "edgewise/runtime/weight_matrix.h"
#include "tests/models/transformer_scorer.h"
#include "tests/runtime/runtime_models.h"

namespace edgewise {
namespace {

std::vector<float> numbers_of(const at::Tensor& tensor) {
  const at::Tensor values = tensor.detach().contiguous();
  return {values.const_data_ptr<float>(), values.const_data_ptr<float>() + values.numel()};
}

TEST(Int8Training, HasTheWeightsOfTheRuntimeBitForBit) {
  for (const kernels::InstructionSet set : kernels::runnable_instruction_sets()) {
    const kernels::ForcedInstructionSet forced(set);
    for (const TransformerOptions& options : all_kinds_of_options()) {
      const Transformer model = random_model(options);
      const Transformer copy = int8_copy(model);
      const std::vector<NamedTensor> all = parameters(model);
      const std::vector<NamedTensor> rounded = parameters(copy);
      std::size_t matrices = 0;
      for (std::size_t i = 0; i < all.size(); ++i) {
        const auto& [name, tensor] = all[i];
        if (!is_stored_in_8_bits(name, static_cast<std::size_t>(tensor.dim()))) continue;
        const QuantisedMatrix matrix = quantise_rows(numbers_of(tensor), tensor.size(1));
        const WeightMatrix stored(matrix.values, matrix.scales, tensor.size(1));
        EXPECT_EQ(numbers_of(rounded[i].tensor), stored.to_floats(0, tensor.size(0))) << name;
        ++matrices;
      }
      EXPECT_GT(matrices, 0U);
    }
  }
}

TEST(Int8Training, MultipliesTheIntegersOfTheRuntime) {
  constexpr std::int64_t kRows = 5;
  constexpr std::int64_t kIn = 70;
  constexpr std::int64_t kOut = 19;
  const at::Tensor x = random_tensor({kRows, kIn}, 1, at::kFloat);
  const at::Tensor weight = random_tensor({kOut, kIn}, 2, at::kFloat);
  for (const kernels::InstructionSet set : kernels::runnable_instruction_sets()) {
    const kernels::ForcedInstructionSet forced(set);
    const PackedLinear<std::int8_t> packed(WeightMatrix(numbers_of(weight), {}, kIn).all_rows(), {},
                                           /*is_bf16=*/false);
    ActivationBuffer<std::int8_t> buffer;
    const Activations<std::int8_t> operand = buffer.allocate(kRows, kIn);
    convert_operand(kRows, kIn, x.const_data_ptr<float>(), /*multiplier=*/0, operand);
    std::vector<float> expected(kRows * kOut);
    packed.write(kRows, operand, expected.data());

    const at::Tensor found =
        at::linear(round_to_int8(x, Int8Factor::kInput), round_to_int8(weight, Int8Factor::kWeight));
    expect_near(numbers_of(found), expected, 1e-4f);
  }
}

// The runtime also rounds keys and values to bf16, which training does not.
TEST(Int8Training, IsNearerToTheRuntimeInInt8ThanTheModelWithoutRounding) {
  double with_rounding = 0;
  double without_rounding = 0;
  for (const TransformerOptions& options : all_kinds_of_options()) {
    const Transformer model = random_model(options);
    const Transformer copy = int8_copy(model);
    const auto runtime = grow_branches(*runtime_of(copy, RuntimePrecision::kInt8).make_scorer(), kInputs, 4);
    TransformerScorer exact(model);
    TransformerScorer rounded(copy);
    without_rounding += mean_difference(runtime, grow_branches(exact, kInputs, 4));
    with_rounding += mean_difference(runtime, grow_branches(rounded, kInputs, 4));
  }
  EXPECT_GT(with_rounding, 0);
  EXPECT_LT(with_rounding, 0.6 * without_rounding);
}

}  // namespace
}  // namespace edgewise
