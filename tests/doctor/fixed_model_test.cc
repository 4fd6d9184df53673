// SPDX-License-Identifier: Apache-2.0
#include "edgewise/doctor/fixed_model.h"

#include <gtest/gtest.h>

#include <vector>

#include "edgewise/base/sha256.h"
#include "edgewise/models/transformer.h"
#include "edgewise/nn/serialize.h"
#include "edgewise/search/search.h"
#include "tests/models/transformer_scorer.h"
#include "tests/nn/convert_parameters.h"

namespace edgewise {
namespace {

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
