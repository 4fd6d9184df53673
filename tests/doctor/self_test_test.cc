// SPDX-License-Identifier: Apache-2.0
#include "edgewise/doctor/self_test.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/base/sha256.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "edgewise/models/transformer.h"
#include "edgewise/nn/serialize.h"
#include "edgewise/search/search.h"
#include "tests/models/transformer_scorer.h"
#include "tests/nn/convert_parameters.h"

namespace edgewise {
namespace {

TEST(SelfTests, AreRightOnEveryInstructionSetAndAnyNumberOfThreads) {
  for (const kernels::InstructionSet set : kernels::runnable_instruction_sets()) {
    const kernels::ForcedInstructionSet forced(set);
    for (const int threads : {1, 3}) {
      const NumThreadsScope scope(threads);
      for (const SelfTest& test : self_tests()) {
        const Finding finding = run_self_test(test);
        EXPECT_TRUE(finding.is_right) << kernels::instruction_set_name(set) << ", " << threads << " threads, "
                                      << test.name << ": " << finding.text;
      }
    }
  }
}

TEST(SelfTests, HaveDifferentNames) {
  std::set<std::string_view> names;
  for (const SelfTest& test : self_tests()) names.insert(test.name);
  EXPECT_EQ(names.size(), self_tests().size());
}

TEST(SelfTests, CountAnExceptionAsAWrongResult) {
  const Finding finding = run_self_test({"a test", []() -> Finding { fail("gemm: memory is full, needs more"); }});
  EXPECT_FALSE(finding.is_right);
  EXPECT_EQ(finding.text, "gemm: memory is full, needs more");
}

TEST(FixedModel, HasTheSameParametersOnEveryMachine) {
  EXPECT_EQ(sha256(fixed_model_parameters().bytes()), kFixedModelDigest);
}

TEST(FixedModel, HasTheExpectedOutputsInDouble) {
  Transformer model(fixed_model_options(), /*seed=*/1);
  load_tensors(parameters(model), fixed_model_parameters(), "the fixed model");
  convert_parameters(model, at::kDouble);
  TransformerScorer scorer(model);
  SearchOptions options = fixed_search_options();
  options.n_best = options.beam;
  for (const FixedOutput& expected : fixed_outputs()) {
    const std::vector<Tokens> inputs = {expected.input};
    const std::vector<Hypothesis> found = search(scorer, std::span<const Tokens>(inputs), options).front();
    ASSERT_EQ(std::ssize(found), options.beam);
    EXPECT_EQ(found.front().tokens, expected.output);
    EXPECT_NEAR(found.front().log_probability, expected.log_probability, 1e-5);
    // Rounding errors in float must not decide which output is the best.
    for (std::size_t i = 1; i < found.size(); ++i) EXPECT_LT(found[i].score, found.front().score - 0.01);
  }
}

}  // namespace

}  // namespace edgewise
