// SPDX-License-Identifier: Apache-2.0
// Beam search with a model on a GPU.
#include "edgewise/search/search.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/runtime/gpu/models.h"

namespace edgewise {
namespace {

constexpr std::int64_t kVocabulary = 60;

Transformer random_model_for_gpus() {
  TransformerOptions options = small_options(TransformerPreset::kTutorial);
  options.size = 32;
  options.input_vocabulary = options.output_vocabulary = kVocabulary;
  return random_model(options);
}

SearchOptions beam_of_three() {
  SearchOptions options;
  options.beam = 3;
  options.n_best = 2;
  return options;
}

TEST(GpuSearch, FindsTheHypothesesOfTheCpu) {
  const Transformer model = random_model_for_gpus();
  const GpuModel on_gpu = gpu_model_of(model);
  const RuntimeModel on_cpu = runtime_of(model);
  const std::vector<Tokens> inputs = random_inputs(5, kVocabulary);
  const SearchOptions search_options = beam_of_three();

  const auto expected = search(*on_cpu.make_scorer(), inputs, search_options);
  const auto actual = search(*on_gpu.make_scorer(), inputs, search_options, {.sentences = 3});

  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    ASSERT_EQ(actual[i].size(), expected[i].size());
    for (std::size_t j = 0; j < expected[i].size(); ++j) {
      EXPECT_EQ(actual[i][j].tokens, expected[i][j].tokens) << "sentence " << i << ", hypothesis " << j;
      EXPECT_NEAR(actual[i][j].log_probability, expected[i][j].log_probability, 1e-3);
    }
  }
}

// The searches after the first one find no array that has to grow, so that they repeat graphs.
TEST(GpuSearch, FindsTheSameBitsWhenStepsRepeatGraphs) {
  const GpuModel model = gpu_model_of(random_model_for_gpus());
  SearchOptions search_options = beam_of_three();
  search_options.max_length = 12;
  const auto scorer = model.make_scorer();
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE(seed);
    const std::vector<Tokens> inputs = random_inputs(4, kVocabulary, seed);

    const auto repeated = search(*scorer, inputs, search_options, {.sentences = 2});

    const auto expected = search(*model.make_scorer(), inputs, search_options, {.sentences = 2});
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      ASSERT_EQ(repeated[i].size(), expected[i].size());
      for (std::size_t j = 0; j < expected[i].size(); ++j) {
        EXPECT_EQ(repeated[i][j].tokens, expected[i][j].tokens);
        EXPECT_EQ(repeated[i][j].log_probability, expected[i][j].log_probability);
      }
    }
  }
}

}  // namespace
}  // namespace edgewise
