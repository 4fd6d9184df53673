// SPDX-License-Identifier: Apache-2.0
// A model computes the same from a file of each type as from a file with the same values in fp32.
#include "tests/nn/stored_types.h"

#include <gtest/gtest.h>

#include <cmath>

#include "edgewise/kernels/simd/instruction_set.h"
#include "edgewise/runtime/packed_linear.h"
#include "edgewise/runtime/weight_matrix.h"
#include "tests/models/universal_models.h"
#include "tests/nn/convert_parameters.h"
#include "tests/runtime/runtime_models.h"

namespace edgewise {
namespace {

std::vector<GrownStep> run(const TransformerOptions& options, const SafetensorsFile& file, RuntimePrecision precision) {
  const RuntimeModel runtime(options, file, "model.safetensors", precision);
  return grow_branches(*runtime.make_scorer(), kInputs, 4);
}

void expect_same_bits(const std::vector<GrownStep>& found, const std::vector<GrownStep>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t t = 0; t < expected.size(); ++t) {
    EXPECT_EQ(found[t].result.log_probabilities, expected[t].result.log_probabilities) << "step " << t;
    EXPECT_EQ(found[t].result.attention, expected[t].result.attention) << "step " << t;
  }
}

/// Lists options with each tying of the embeddings, with and without heads that need padding, and learned positions.
std::vector<TransformerOptions> options_of_all_tyings() {
  std::vector<TransformerOptions> all;
  for (const auto& tying : enum_names(Tying{})) {
    all.push_back(small_options(TransformerPreset::kTutorial));
    all.back().tying = tying.value;
    all.push_back(all.back());
    all.back().heads = 3;
    all.back().size = 15;
    all.back().positions = PositionKind::kLearned;
    all.back().max_positions = 20;
  }
  return all;
}

/// Calls `test(options, files, type)` for a random model of each kind, stored in each type.
template <class Test>
void for_stored_models(const Test& test) {
  for (const kernels::InstructionSet set : kernels::runnable_instruction_sets()) {
    const kernels::ForcedInstructionSet forced(set);
    for (const TransformerOptions& options : options_of_all_tyings()) {
      const Transformer model = random_model(options);
      for (const DType dtype : kStoredTypes) {
        SCOPED_TRACE(testing::Message() << kernels::instruction_set_name(set) << ", " << enum_name(options.tying)
                                        << ", " << dtype_name(dtype));
        test(options, store_parameters(parameters(model), dtype), dtype);
      }
    }
  }
}

TEST(StoredTypes, GiveTheResultsOfTheSameValuesInFp32) {
  for_stored_models([](const TransformerOptions& options, const StoredParameters& files, DType dtype) {
    for (const auto& [precision, name] : enum_names(RuntimePrecision{})) {
      if (precision == RuntimePrecision::kInt8 && dtype == DType::kI8) continue;  // these scales are the file's
      SCOPED_TRACE(name);
      expect_same_bits(run(options, files.stored.file(), precision), run(options, files.floats.file(), precision));
    }
  });
}

// Rounding the weights of the file once more, to other scales, would add to the error of rounded activations.
TEST(StoredTypes, OfEightBitsAreNotRoundedAgainInInt8) {
  double error_of_stored = 0;
  double error_of_rounded_again = 0;
  for_stored_models([&](const TransformerOptions& options, const StoredParameters& files, DType dtype) {
    if (dtype != DType::kI8) return;
    const std::vector<GrownStep> exact = run(options, files.floats.file(), RuntimePrecision::kFp32);
    error_of_stored += mean_difference(run(options, files.stored.file(), RuntimePrecision::kInt8), exact);
    error_of_rounded_again += mean_difference(run(options, files.floats.file(), RuntimePrecision::kInt8), exact);
  });
  EXPECT_GT(error_of_stored, 0);
  EXPECT_LT(error_of_stored, error_of_rounded_again);
}

TEST(StoredTypes, MayDifferFromParameterToParameter) {
  for (const TransformerOptions& options : options_of_all_tyings()) {
    const Transformer model = random_model(options);
    StoredParameters files;
    std::size_t next = 0;
    for (const NamedTensor& named : parameters(model)) {
      const DType dtype = kStoredTypes[next++ % kStoredTypes.size()];
      const at::Tensor values = files.stored.add_parameter(named.name, dtype, named.tensor.detach());
      files.floats.add(named.name, DType::kF32, values);
    }
    expect_same_bits(run(options, files.stored.file(), RuntimePrecision::kFp32),
                     run(options, files.floats.file(), RuntimePrecision::kFp32));
  }
}

TEST(StoredTypes, GiveTheResultsOfTheSameValuesInFp32ForAUniversalTransformer) {
  TransformerOptions options = universal_options();
  options.universal.transition = Transition::kSeparableConvolution;
  UniversalTransformer model = universal_model(options);
  convert_parameters(model, at::kFloat);
  for (const DType dtype : kStoredTypes) {
    SCOPED_TRACE(dtype_name(dtype));
    const StoredParameters files = store_parameters(parameters(model), dtype);
    expect_same_bits(run(options, files.stored.file(), RuntimePrecision::kFp32),
                     run(options, files.floats.file(), RuntimePrecision::kFp32));
  }
}

TEST(PackedLinear, MultipliesNumbersOfEightBitsAsStored) {
  constexpr std::int64_t kIn = 5;
  constexpr std::int64_t kOut = 3;
  const std::vector<std::int8_t> weights = {1, 2, 3, 4, 5, 0, -3, 2, 1, 0, 7, 0, 0, 0, -7};
  const std::vector<float> scales = {1.0f, 0.5f, 4.0f};
  const WeightMatrix matrix(weights, scales, kIn);
  for (const kernels::InstructionSet set : kernels::runnable_instruction_sets()) {
    const kernels::ForcedInstructionSet forced(set);
    const PackedLinear<std::int8_t> linear(matrix.all_rows(), {}, /*is_bf16=*/false);
    std::vector<std::int8_t> x = {100, -3, 17, 0, 1};
    float row_scale = 0.25f;
    std::vector<float> out(kOut);
    linear.write(1, Activations<std::int8_t>{x.data(), &row_scale}, out.data());
    for (std::int64_t row = 0; row < kOut; ++row) {
      std::int64_t sum = 0;
      for (std::int64_t k = 0; k < kIn; ++k) sum += std::int64_t{x[k]} * weights[row * kIn + k];
      EXPECT_EQ(out[row], static_cast<float>(sum) * scales[row] * row_scale) << kernels::instruction_set_name(set);
    }
  }
}

TEST(WeightMatrix, PlacesRowsWithTheirScalesAndColumns) {
  const WeightMatrix matrix(std::vector<std::int8_t>{1, 2, 3, 4}, {10.0f, 100.0f}, 2);
  const std::vector<std::int64_t> places = {2, 0};

  EXPECT_EQ(matrix.place_rows(places, 3).to_floats(0, 3), (std::vector<float>{300, 400, 0, 0, 10, 20}));
  EXPECT_EQ(matrix.place_columns(places, 3).to_floats(0, 2), (std::vector<float>{20, 0, 10, 400, 0, 300}));
  EXPECT_EQ(matrix.to_floats(1, 1), (std::vector<float>{300, 400}));
}

TEST(WeightMatrix, BecomesFloatWhenRowsOfAnotherTypeAreAppended) {
  WeightMatrix same(std::vector<std::int8_t>{1, 2}, {0.5f}, 2);
  same.append(WeightMatrix(std::vector<std::int8_t>{3, 4}, {2.0f}, 2));
  EXPECT_NE(same.row<std::int8_t>(0), nullptr);
  EXPECT_EQ(same.to_floats(0, 2), (std::vector<float>{0.5f, 1, 6, 8}));

  same.append(WeightMatrix(std::vector<BFloat16>{BFloat16(5.0f), BFloat16(-6.0f)}, {}, 2));
  EXPECT_EQ(same.row<std::int8_t>(0), nullptr);
  EXPECT_EQ(same.rows(), 3);
  EXPECT_EQ(same.take_floats(), (std::vector<float>{0.5f, 1, 6, 8, 5, -6}));
}

}  // namespace
}  // namespace edgewise
