// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "edgewise/base/threads.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "edgewise/search/search.h"
#include "tests/runtime/runtime_models.h"

namespace edgewise {
namespace {

TEST(RuntimeModel, IsUsedByScorersOfSeveralThreadsAtATime) {
  const Transformer model = random_model(small_options(TransformerPreset::kTutorial));
  const RuntimeModel runtime = runtime_of(model);
  const auto translate = [&] {
    const auto scorer = runtime.make_scorer();
    std::vector<Tokens> outputs;
    for (const auto& best : search(*scorer, kInputs, {.beam = 3})) outputs.push_back(best.front().tokens);
    return outputs;
  };
  const std::vector<Tokens> expected = translate();

  std::vector<std::vector<Tokens>> found(4);
  {
    std::vector<std::jthread> workers;
    for (std::vector<Tokens>& outputs : found) {
      workers.emplace_back([&] {
        set_num_threads(2);
        outputs = translate();
      });
    }
  }

  for (const std::vector<Tokens>& outputs : found) EXPECT_EQ(outputs, expected);
}

class InEachPrecisionOnSomeThreads : public testing::TestWithParam<RuntimePrecision> {};

/// Returns the results of steps of 1 to 50 rows on some threads. Of such a small model, threads that have fewer than 6
/// rows each divide the tokens of the vocabulary instead of the rows: of steps of 10 rows two threads, of 16 rows
/// three.
std::vector<GrownStep> grow_on_threads(const RuntimeModel& runtime, int threads) {
  const NumThreadsScope scope(threads);
  const auto scorer = runtime.make_scorer();
  std::vector<GrownStep> steps;
  for (const std::size_t count : {1, 5, 8, 25}) {
    std::vector<Tokens> inputs;
    for (std::size_t i = 0; i < count; ++i) inputs.push_back(kInputs[i % kInputs.size()]);
    for (GrownStep& step : grow_branches(*scorer, inputs, 2)) steps.push_back(std::move(step));
  }
  return steps;
}

TEST_P(InEachPrecisionOnSomeThreads, ComputesTheSameBitsForALargeVocabularyOnEveryInstructionSet) {
  TransformerOptions options = small_options(TransformerPreset::kTutorial);
  options.input_vocabulary = options.output_vocabulary = 40'001;
  const Transformer model = random_model(options);
  for (const kernels::InstructionSet set : kernels::runnable_instruction_sets()) {
    SCOPED_TRACE(kernels::instruction_set_name(set));
    const kernels::ForcedInstructionSet forced(set);
    const RuntimeModel runtime = runtime_of(model, GetParam());
    const std::vector<GrownStep> expected = grow_on_threads(runtime, 1);
    for (const int threads : {2, 3}) {
      const std::vector<GrownStep> found = grow_on_threads(runtime, threads);
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t t = 0; t < found.size(); ++t) {
        ASSERT_EQ(found[t].result.log_probabilities, expected[t].result.log_probabilities) << "step " << t;
        ASSERT_TRUE(std::ranges::equal(found[t].result.candidates, expected[t].result.candidates, {}, &Candidate::token,
                                       &Candidate::token))
            << "step " << t;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, InEachPrecisionOnSomeThreads,
                         testing::Values(RuntimePrecision::kFp32, RuntimePrecision::kBf16, RuntimePrecision::kInt8),
                         [](const auto& precision) { return std::string(enum_name(precision.param)); });

}  // namespace
}  // namespace edgewise
