// SPDX-License-Identifier: Apache-2.0
// Beam search with a model on a GPU.
#include <gtest/gtest.h>

#include <vector>

#include "edgewise/gpu_runtime/gpu_model.h"
#include "edgewise/search/search.h"
#include "tests/runtime/scorer_checks.h"

namespace edgewise {
namespace {

TEST(GpuSearch, FindsTheHypothesesOfTheCpu) {
  TransformerOptions options = small_options(TransformerPreset::kTutorial);
  options.size = 32;
  options.input_vocabulary = options.output_vocabulary = 60;
  const Transformer model = random_model(options);
  const GpuModel on_gpu(options, parameter_file(model), "model.safetensors");
  const RuntimeModel on_cpu = runtime_of(model);
  const std::vector<Tokens> inputs = random_inputs(5, 60);
  SearchOptions search_options;
  search_options.beam = 3;
  search_options.n_best = 2;

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

}  // namespace
}  // namespace edgewise
