// SPDX-License-Identifier: Apache-2.0
// Compares the runtime's Universal Transformer with the model over libtorch.
#include <gtest/gtest.h>

#include <cstring>

#include "edgewise/base/threads.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "tests/models/universal_models.h"
#include "tests/models/universal_scorer.h"
#include "tests/nn/convert_parameters.h"
#include "tests/runtime/runtime_models.h"

namespace edgewise {
namespace {

using kernels::ForcedInstructionSet;
using kernels::InstructionSet;

UniversalTransformer float_model(const TransformerOptions& options) {
  UniversalTransformer model = universal_model(options);
  convert_parameters(model, at::kFloat);
  return model;
}

TEST(UniversalRuntime, AgreesWithTheModelOverLibtorchForAllOptions) {
  for (const InstructionSet set : kernels::runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    for (const TransformerOptions& options : all_kinds_of_universal_options()) {
      SCOPED_TRACE(testing::Message() << kernels::instruction_set_name(set) << ", " << description(options));
      const UniversalTransformer model = float_model(options);
      const RuntimeModel runtime = runtime_of(model);
      UniversalScorer reference(model);

      const std::vector<GrownStep> found = grow_branches(*runtime.make_scorer(), kInputs, 5);
      const std::vector<GrownStep> expected = grow_branches(reference, kInputs, 5);

      expect_same_results(found, expected);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(UniversalRuntime, ComputesASentenceToTheSameBitsAloneAndInABatchInAnyPrecisionAndOnEveryInstructionSet) {
  for (const InstructionSet set : kernels::runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    for (const RuntimePrecision precision :
         {RuntimePrecision::kFp32, RuntimePrecision::kBf16, RuntimePrecision::kInt8}) {
      SCOPED_TRACE(testing::Message() << kernels::instruction_set_name(set) << ", " << enum_name(precision));
      const RuntimeModel runtime = runtime_of(float_model(universal_options()), precision);
      const std::vector<GrownStep> together = grow_branches(*runtime.make_scorer(), kInputs, 4);
      const std::vector<GrownStep> alone = grow_branches(*runtime.make_scorer(), {kInputs[0]}, 4);
      for (std::size_t t = 0; t < alone.size(); ++t) {
        const std::vector<float>& row = alone[t].result.log_probabilities;
        EXPECT_EQ(std::memcmp(row.data(), together[t].result.log_probabilities.data(), row.size() * sizeof(float)), 0);
      }
    }
  }
}

TEST(UniversalRuntime, RefusesALayerOfAttentionThatTheModelDoesNotHave) {
  const RuntimeModel runtime = runtime_of(float_model(universal_options()));
  EXPECT_EQ(error_of([&] { runtime.make_scorer({.layer = 0}); }), "no error");
  EXPECT_EQ(error_of([&] { runtime.make_scorer({.layer = 1}); }),
            "RuntimeModel: attention's layer is 1, needs a number from -1 to 0");
}

TEST(UniversalRuntime, IsCloseToFp32InBf16AndInt8) {
  const UniversalTransformer model = float_model(universal_options());
  UniversalScorer reference(model);
  const std::vector<GrownStep> expected = grow_branches(reference, kInputs, 3);
  // The mean error of a few roundings of numbers of about 1: by at most 2^-9 in bf16, and by at most half of 1/127 of
  // the largest number of a row in int8. The errors are 0.0021 and 0.0042.
  for (const auto& [precision, tolerance] :
       {std::pair(RuntimePrecision::kBf16, 5 * 0x1p-9), std::pair(RuntimePrecision::kInt8, 5 * 0.5 / 127)}) {
    SCOPED_TRACE(enum_name(precision));
    const std::vector<GrownStep> found = grow_branches(*runtime_of(model, precision).make_scorer(), kInputs, 3);
    double difference = 0;
    for (std::size_t i = 0; i < expected[0].result.log_probabilities.size(); ++i) {
      difference += std::abs(found[0].result.log_probabilities[i] - expected[0].result.log_probabilities[i]);
    }
    EXPECT_LE(difference / static_cast<double>(expected[0].result.log_probabilities.size()), tolerance);
  }
}

}  // namespace
}  // namespace edgewise
